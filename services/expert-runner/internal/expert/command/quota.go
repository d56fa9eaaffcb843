package command

import (
	"io/fs"
	"path/filepath"
	"time"
)

// lookAgain is the interval of checks of a workspace's size.
const lookAgain = 500 * time.Millisecond

// quota limits the size of a program's workspace.
type quota struct {
	dir   string
	limit int64 // 0 means no limit.
	over  bool  // Only watch writes it.
}

// watch checks the workspace until the program has ended, and once more then. If it is too large, the program is stopped.
func (q *quota) watch(exited <-chan struct{}, stop func()) {
	if q.limit == 0 {
		return
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			q.over = q.over || size(q.dir) > q.limit
			return
		case <-tick.C:
			if !q.over && size(q.dir) > q.limit {
				q.over = true
				stop()
			}
		}
	}
}

// size returns the total size of the files in a folder, in bytes. Unreadable ones are not counted.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // Errors are skipped one by one.
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
