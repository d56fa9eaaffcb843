package host_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// What a killed process held is free a moment later, and what another one holds is not.
func TestWhatAKilledProcessHeldIsAcquiredAMomentLater(t *testing.T) {
	other := errors.New("no such folder")
	for _, c := range []struct {
		name  string
		held  time.Duration
		while error
		want  error
		after time.Duration
	}{
		{name: "free", held: 0, while: other, want: nil, after: 0},
		{name: "an address for a moment", held: 185 * time.Millisecond, while: syscall.EADDRINUSE, want: nil, after: 200 * time.Millisecond},
		{name: "a lock for a moment", held: 185 * time.Millisecond, while: fmt.Errorf("lock: %w", syscall.EWOULDBLOCK), want: nil, after: 200 * time.Millisecond},
		{name: "by another process", held: time.Hour, while: syscall.EADDRINUSE, want: syscall.EADDRINUSE, after: 2 * time.Second},
		{name: "another fault", held: time.Hour, while: other, want: other, after: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := host.Acquire(func() error {
					if time.Since(begun) < c.held {
						return c.while
					}
					return nil
				})
				if !errors.Is(err, c.want) || time.Since(begun) != c.after {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(begun), c.want, c.after)
				}
			})
		})
	}
}

func TestAnAddressThatAKilledProcessHeldIsListenedAt(t *testing.T) {
	holder := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	time.AfterFunc(100*time.Millisecond, func() { _ = holder.Close() })
	server := musttest.Get(host.Listen(holder.Addr().String(), host.NewHealth(), host.NewMetrics(host.Build{}), host.Build{}))(t)
	musttest.Do(t, server.Close())
}
