//go:build e2e

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// supervised mounts a small disk at $0, for itself and its children only, and restarts a program until it ends normally.
const supervised = `mount -t tmpfs -o size=16m tmpfs "$0" && until "$@"; do sleep 0.2; done`

// A full disk ends bus and services in one process, with a message that names the disk, and again at every restart. Once
// there is room, the next start continues: nothing accepted is lost.
func TestAFullDiskEndsTheAllInOneUntilThereIsRoom(t *testing.T) {
	t.Parallel() // It mostly waits.
	unshare := musttest.Get(exec.LookPath("unshare"))(t)
	s, port := empty(t)
	s.card("worker", "", "work")
	room := filepath.Join(s.dir, "store")
	s.serve(&process{
		program: "jobgraph", path: unshare, group: true, env: append(s.env(), "JOBGRAPH_LEASE=3s", "JOBGRAPH_LEASE_MARGIN=500ms"),
		args: []string{
			"-Urm", "sh", "-c", supervised, room, filepath.Join(programs, "jobgraph"),
			"up", "--store", filepath.Join(room, "s"), "--nats", "127.0.0.1:" + port, "--experts", filepath.Join(s.dir, "cards"),
		},
	})
	answers := func() bool { return s.cli("list", "--timeout", "5s").code == 0 }
	until(t, "the bus answers", patience, answers)
	s.connect()
	s.hold("j", "b", "c")
	s.submit("j", diamond()...)
	s.await(1, "begin", "j", "b")
	s.await(1, "begin", "j", "c")
	filler := filepath.Join("/proc", strconv.Itoa(s.server.cmd.Process.Pid), "root", room, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, os.Getpagesize())
	for err == nil {
		_, err = f.Write(page)
	}
	if closed := f.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		t.Fatal(err, closed)
	}
	s.open("j", "b", "c")
	s.says("cannot write to the store; shutting down")
	s.says("jobgraph: store: the disk of the store " + filepath.Join(room, "s") + " is full")
	s.says("jobgraph.room: no space left on device") // The error belongs to the next start.
	if r := s.cli("doctor", "--timeout", "5s"); r.code != 69 {
		t.Errorf("doctor: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	musttest.Do(t, os.Remove(filler))
	until(t, "the bus answers", patience, answers)
	s.finish("j")
	s.server.kill()
}

// says waits for a text in the output of the process with the bus.
func (s *stack) says(what string) {
	s.t.Helper()
	until(s.t, "it says: "+what, patience, func() bool {
		text, err := os.ReadFile(s.server.log)
		return err == nil && strings.Contains(string(text), what)
	})
}
