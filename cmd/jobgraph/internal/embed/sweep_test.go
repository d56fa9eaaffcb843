package embed

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Only stores are removed from the folder for temporary files, and only if they were not used for a long time.
func TestTemporaryStoresGoAfterTheirTime(t *testing.T) {
	dir, long, now := t.TempDir(), time.Now().Add(-8*24*time.Hour), time.Now()
	make := func(name, file string, used time.Time) string {
		path := filepath.Join(dir, name, file)
		musttest.Write(t, path, "")
		musttest.Do(t, os.Chtimes(path, used, used))
		return path
	}
	make("jobgraph-1", lockFile, long)
	make("jobgraph-1", "jetstream/data", now)
	make("jobgraph-2", lockFile, now)
	used := make("jobgraph-3", lockFile, long)
	make("jobgraph-4", "something", long)
	make("jobgraph-run-5", lockFile, long)
	make("mine-6", lockFile, long)
	elsewhere := filepath.Dir(make("elsewhere", lockFile, long))
	musttest.Do(t, os.Symlink(elsewhere, filepath.Join(dir, "jobgraph-7")))
	held, err := os.OpenFile(used, os.O_RDWR, 0)
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	left := func() (names []string) {
		entries := musttest.Get(os.ReadDir(dir))(t)
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	before := left()
	sweep(dir, now.Add(-keptFor))
	want := slices.DeleteFunc(before, func(name string) bool { return name == "jobgraph-1" })
	musttest.Equal(t, want, left())
	sweep(filepath.Join(dir, "nowhere"), now) // There is nothing to remove.
}

// A store that is opened again counts as used.
func TestOpeningAStoreRenewsItsTime(t *testing.T) {
	store := t.TempDir()
	long := time.Now().Add(-8 * 24 * time.Hour)
	path := filepath.Join(store, lockFile)
	musttest.Write(t, path, "")
	musttest.Do(t, os.Chtimes(path, long, long))
	e := &Server{store: store}
	musttest.Do(t, e.claim())
	defer func() { _ = e.lock.Close() }()
	if info, err := os.Stat(path); err != nil || info.ModTime().Before(time.Now().Add(-time.Hour)) {
		t.Errorf("%v %v", info, err)
	}
}
