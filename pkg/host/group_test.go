package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
)

// diary is a list that several goroutines write.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// member takes a second to start and a second to stop.
func (d *diary) member(name string) host.Member {
	return host.Member{Name: name, Run: func(ctx context.Context, ready func()) error {
		<-time.After(time.Second)
		d.add("start " + name)
		ready()
		<-ctx.Done()
		<-time.After(time.Second)
		d.add("stop " + name)
		return ctx.Err()
	}}
}

func TestMembersStartInOrderAndStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := host.RunGroup(ctx, d.member("a"), d.member("b"), d.member("c"))
		same(t, nil, err)
		same(t, []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}, d.lines)
	})
}

func TestAFailureStopsTheOthersAndAllErrorsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		broken, late := errors.New("broken"), errors.New("late")
		err := host.RunGroup(t.Context(), d.member("a"),
			host.Member{Name: "late", Run: func(ctx context.Context, ready func()) error {
				ready()
				<-ctx.Done()
				return late
			}},
			host.Member{Name: "b", Run: func(_ context.Context, ready func()) error {
				ready()
				<-time.After(time.Hour)
				return broken
			}})
		if !errors.Is(err, broken) || !errors.Is(err, late) || !strings.Contains(err.Error(), "b: broken") {
			t.Fatalf("got %v", err)
		}
		same(t, []string{"start a", "stop a"}, d.lines)
	})
}

func TestAFailureBeforeReadyKeepsTheNextFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		err := host.RunGroup(t.Context(), d.member("a"),
			host.Member{Name: "b", Run: func(context.Context, func()) error { panic("oops") }}, d.member("c"))
		var panicked *host.PanicError
		if !errors.As(err, &panicked) || panicked.Value != "oops" || len(panicked.Stack) == 0 {
			t.Fatalf("got %v", err)
		}
		same(t, []string{"start a", "stop a"}, d.lines)
	})
}

func TestAMemberThatEndsByItselfStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		err := host.RunGroup(ctx,
			host.Member{Name: "once", Run: func(context.Context, func()) error { return nil }}, d.member("a"))
		same(t, nil, err)
		same(t, time.Minute+time.Second, time.Since(begun))
	})
}

func TestAMemberThatOverstaysIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		release := make(chan struct{})
		defer close(release)
		err := host.RunGroup(ctx, host.Member{Name: "deaf", Stop: time.Second, Run: func(_ context.Context, ready func()) error {
			ready()
			<-release
			return nil
		}})
		if err == nil || err.Error() != "deaf: did not stop within 1s" {
			t.Fatalf("got %v", err)
		}
	})
}
