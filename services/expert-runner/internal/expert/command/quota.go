package command

import (
	"io/fs"
	"path/filepath"
	"time"
)

// lookAgain is how often the size of a workspace is looked at.
const lookAgain = 500 * time.Millisecond

// quota bounds what a program leaves in its workspace.
type quota struct {
	dir   string
	limit int64 // 0 is none.
	over  bool  // Written by watch alone.
}

// watch looks at the workspace until the program has ended, and once more then. When there is too much in it the program is
// stopped.
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

// size is what all files of a folder take together, in bytes. What cannot be looked at is not counted.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // Its errors are passed over one by one.
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
