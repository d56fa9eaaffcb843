package embed

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// lockFile is the file of a store that its user locks; its time says when the store was last opened.
const lockFile = "jobgraph.lock"

// keptFor is how long a temporary store is kept after its last use if its run was killed, or was interrupted and can be
// continued.
const keptFor = 7 * 24 * time.Hour

// temporary matches the names that os.MkdirTemp makes for stores.
var temporary = regexp.MustCompile(`^jobgraph-[0-9]+$`)

// sweep removes temporary stores of this user that no process uses and that were last opened before a time. It skips what it cannot
// remove.
func sweep(dir string, since time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); temporary.MatchString(entry.Name()) && entry.IsDir() && abandoned(path, since) {
			_ = os.RemoveAll(path)
		}
	}
}

// abandoned reports whether a folder is a store of this user that was last opened before a time, and is not in use.
func abandoned(store string, since time.Time) bool {
	folder, err := os.Lstat(store)
	if err != nil || !mine(folder) {
		return false
	}
	path := filepath.Join(store, lockFile)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !mine(info) || !info.ModTime().Before(since) {
		return false
	}
	lock, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }() // Closing the file releases the lock.
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// mine reports whether a file belongs to the user of this process.
func mine(info os.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && int(stat.Uid) == os.Geteuid()
}
