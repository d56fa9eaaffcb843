package program

import (
	"io/fs"
	"path/filepath"
	"time"
)

// lookAgain is the interval of checks of a workspace's size.
const lookAgain = 500 * time.Millisecond

// Quota limits the size of a program's workspace.
type Quota struct {
	// Dir is the workspace.
	Dir string
	// Limit is its largest size in bytes; 0 means no limit.
	Limit int64
	// Over is true if it was larger. It is valid when Watch has returned.
	Over bool
}

// Watch checks the workspace until the program has ended, and once more then. If it is too large, the program is stopped.
func (q *Quota) Watch(exited <-chan struct{}, stop func()) {
	if q.Limit == 0 {
		<-exited
		return
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			q.Over = q.Over || size(q.Dir) > q.Limit
			return
		case <-tick.C:
			if !q.Over && size(q.Dir) > q.Limit {
				q.Over = true
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
