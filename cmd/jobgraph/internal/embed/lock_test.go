package embed

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// Such a program may outlive a process that was killed while it started it.
func TestWhatAKilledProcessHeldForAMomentIsTaken(t *testing.T) {
	dir := t.TempDir()
	lock := musttest.Get(os.Create(filepath.Join(dir, lockFile)))(t)
	musttest.Do(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	address := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	time.AfterFunc(100*time.Millisecond, func() {
		_ = lock.Close()
		time.AfterFunc(100*time.Millisecond, func() { _ = address.Close() })
	})
	e := musttest.Get(Start(Settings{Store: dir, Listen: address.Addr().String()}))(t)
	if want := "nats://" + address.Addr().String(); e.URL() != want {
		t.Errorf("%s, want %s", e.URL(), want)
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}
