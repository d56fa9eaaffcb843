package embed

import (
	"syscall"
	"testing"
)

// A program that is being started has a copy of each descriptor until it is executed.
func TestAStoreIsFreeAlthoughACopyOfItsLockIsOpen(t *testing.T) {
	dir := t.TempDir()
	e, err := Start(Settings{Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(e.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(copied) }()
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	again, err := Start(Settings{Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}
