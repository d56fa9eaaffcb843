//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
	"time"
)

// Bus and services run in one process: kill -9 ends them all, and a restart continues from the same store.
//
// proves C38
func TestTheAllInOneGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel() // It mostly waits.
	s, port := empty(t)
	s.card("worker", "", "work")
	s.serve(&process{
		program: "jobgraph", env: append(s.env(), "JOBGRAPH_LEASE=3s", "JOBGRAPH_LEASE_MARGIN=500ms"),
		args: []string{"up", "--store", filepath.Join(s.dir, "store"), "--nats", "127.0.0.1:" + port, "--experts", filepath.Join(s.dir, "cards")},
	})
	answers := func() bool { return s.cli("list", "--timeout", "5s").code == 0 }
	until(t, "the bus answers", patience, answers)
	s.connect()
	s.hold("j", "b", "c")
	s.submit("j", diamond()...)
	s.await(1, "begin", "j", "b")
	s.await(1, "begin", "j", "c")
	s.server.kill()
	at := time.Now()
	s.server.start()
	s.open("j", "b", "c")
	until(t, "the bus answers", patience, answers)
	s.finish("j")
	t.Logf("finished %s after the restart", time.Since(at).Round(time.Millisecond))
	for id, most := range map[string]int{"a": 1, "b": 2, "c": 2, "d": 1} {
		if n := s.count("begin", "j", id); n > most {
			t.Errorf("%s began %d times", id, n)
		}
	}
	s.server.drain()
}
