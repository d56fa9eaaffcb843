package embed

import (
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A program that is being started has a copy of each descriptor until it is executed.
func TestAStoreIsFreeAlthoughACopyOfItsLockIsOpen(t *testing.T) {
	dir := t.TempDir()
	e := musttest.Get(Start(Settings{Store: dir}))(t)
	copied := musttest.Get(syscall.Dup(int(e.lock.Fd())))(t)
	defer func() { _ = syscall.Close(copied) }()
	musttest.Do(t, e.Stop())
	again := musttest.Get(Start(Settings{Store: dir}))(t)
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}
