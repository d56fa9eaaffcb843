package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// outcome is what a process has left behind.
type outcome struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// life runs a program in virtual time with signals after these spans.
func life(args []string, run func(context.Context, *host.Process) error, spans ...time.Duration) outcome {
	signals := make(chan os.Signal, 2)
	var stdout, stderr strings.Builder
	for _, span := range spans {
		time.AfterFunc(span, func() { signals <- syscall.SIGTERM })
	}
	begun := time.Now()
	code := host.Main(host.System{
		Args: append([]string{"--http-addr=off"}, args...), Env: environment(nil),
		Stdout: &stdout, Stderr: &stderr, Signals: signals,
	}, host.Program{Name: "scheduler", About: "advances jobs.", Run: run})
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begun)}
}

func TestTheFirstSignalDrainsAndFinishedWorkEndsWithZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		got := life(nil, func(ctx context.Context, p *host.Process) error {
			p.Cleanup("first", 0, func(context.Context) error { d.add("undo first"); return nil })
			p.Cleanup("second", 0, func(context.Context) error { d.add("undo second"); return nil })
			same(t, []host.Reason{{Name: "scheduler", Reason: "starting"}}, p.Health.Reasons(ctx))
			p.Ready()
			same(t, 0, len(p.Health.Reasons(ctx)))
			<-p.Intake().Done()
			if cause := context.Cause(p.Intake()); !errors.Is(cause, host.ErrDraining) {
				t.Errorf("the intake ended by %v", cause)
			}
			same(t, []host.Reason{{Name: "drain", Reason: "draining since terminated"}}, p.Health.Reasons(ctx))
			<-time.After(10 * time.Second) // Work under way.
			same(t, nil, ctx.Err())
			d.add("finished")
			return p.Intake().Err()
		}, time.Minute)
		same(t, host.ExitOK, got.code)
		same(t, 70*time.Second, got.took)
		same(t, []string{"finished", "undo second", "undo first"}, d.lines)
	})
}

func TestTheDrainTimeoutEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := life([]string{"--drain-timeout=5s"}, func(ctx context.Context, _ *host.Process) error {
			<-ctx.Done()
			return fmt.Errorf("hand back: %w", context.Cause(ctx))
		}, time.Minute)
		same(t, host.ExitOK, got.code)
		same(t, 65*time.Second, got.took)
	})
}

func TestTheSecondSignalEndsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		got := life(nil, func(_ context.Context, p *host.Process) error {
			for range 10 {
				p.Cleanup("slow", time.Hour, func(context.Context) error { <-release; return nil })
			}
			<-release // Deaf to every context.
			return nil
		}, time.Minute, time.Minute+2*time.Second)
		same(t, host.ExitInterrupted, got.code)
		if got.took > time.Minute+5*time.Second {
			t.Errorf("it took %s", got.took)
		}
	})
}

func TestErrorsBecomeExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		host.ExitOK:          nil,
		host.ExitFailure:     errors.New("broken"),
		host.ExitUsage:       host.Faults{{Message: "bad"}},
		host.ExitUnavailable: fmt.Errorf("connect: %w", host.ErrUnavailable),
	} {
		got := life(nil, func(context.Context, *host.Process) error { return err })
		if got.code != want {
			t.Errorf("%v ends with %d, want %d", err, got.code, want)
		}
	}
}

func TestFaultsOfAServiceEndItByTheirCode(t *testing.T) {
	for code, want := range map[events.Code]int{
		events.CodeInvalid: host.ExitUsage, events.CodeMissing: host.ExitUsage, events.CodeUnknownField: host.ExitUsage, host.CodeUnreadable: host.ExitUsage,
		events.CodeNotFound: host.ExitNotFound, events.CodeUnavailable: host.ExitUnavailable,
		events.CodeConflict: host.ExitFailure, events.CodeInternal: host.ExitFailure, events.CodeMustUnderstand: host.ExitFailure, "": host.ExitFailure,
	} {
		err := fmt.Errorf("start: %w", events.Faults{{Code: code, Message: "no"}, {Code: events.CodeInvalid}})
		if got := host.ExitCode(err); got != want {
			t.Errorf("%q ends with %d, want %d", code, got, want)
		}
	}
	same(t, host.ExitFailure, host.ExitCode(events.Faults{}))
}

func TestAnErrorWhileDrainingIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := life(nil, func(_ context.Context, p *host.Process) error {
			<-p.Intake().Done()
			return errors.Join(p.Intake().Err(), errors.New("save state: conflict"))
		}, time.Second)
		same(t, host.ExitFailure, got.code)
	})
}

func TestAPanicIsReportedWithItsStackAndCleanedUpBehind(t *testing.T) {
	undone := false
	got := life(nil, func(_ context.Context, p *host.Process) error {
		p.Cleanup("it", 0, func(context.Context) error { undone = true; return errors.New("too") })
		panic("oops")
	})
	same(t, host.ExitFailure, got.code)
	same(t, true, undone)
	for _, part := range []string{"panic: oops", "main_test.go", "clean up scheduler it: too"} {
		if !strings.Contains(got.stderr, part) {
			t.Errorf("no %q in %s", part, got.stderr)
		}
	}
}

func TestBadSettingsAreToldTogetherBeforeAnythingRuns(t *testing.T) {
	got := life([]string{"--concurrency=x", "--colour"}, func(context.Context, *host.Process) error {
		t.Error("it ran")
		return nil
	})
	same(t, host.ExitUsage, got.code)
	same(t, "scheduler: --colour: unknown flag (--help lists all)\n"+
		"scheduler: --concurrency: value \"x\" is not good (it must be a whole number from 0 to 10000)\n", got.stderr)
}

func TestAProcessThatFailsSaysWhatToDo(t *testing.T) {
	fault := events.Fault{Field: "tokens", Message: "there is no token", Hint: "give a file of tokens"}
	for _, err := range []error{&fault, events.Faults{fault}} {
		got := life(nil, func(context.Context, *host.Process) error { return fmt.Errorf("start: %w", err) })
		if !strings.Contains(got.stderr, `msg="process failed"`) || !strings.Contains(got.stderr, `hint="give a file of tokens"`) {
			t.Error(got.stderr)
		}
	}
}

func TestSubcommandsAnswerAndEnd(t *testing.T) {
	never := func(context.Context, *host.Process) error { return errors.New("it ran") }
	for args, want := range map[string]string{
		"--help": "--drain-timeout  (JOBGRAPH_DRAIN_TIMEOUT)", "help": "Usage: scheduler",
		"config print": "prefix         jobs", "version": `"name":"scheduler"`,
	} {
		got := life(strings.Fields(args), never)
		if got.code != host.ExitOK || !strings.Contains(got.stdout, want) {
			t.Errorf("%s ends with %d: %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	if got := life([]string{"healtcheck"}, never); got.code != host.ExitUsage || !strings.Contains(got.stderr, "did you mean healthcheck?") {
		t.Errorf("a wrong command ends with %d: %s", got.code, got.stderr)
	}
	if got := life([]string{"healthcheck"}, never); got.code != host.ExitUsage {
		t.Errorf("a health check without an address ends with %d: %s", got.code, got.stderr)
	}
}

func TestAProcessServesHealthUntilItsLastCleanup(t *testing.T) {
	signals := make(chan os.Signal, 2)
	var stderr strings.Builder
	code := host.Main(host.System{
		Args: []string{"--http-addr=127.0.0.1:0"}, Env: environment(nil), Stderr: &stderr, Signals: signals,
	}, host.Program{Name: "planner", Run: func(ctx context.Context, p *host.Process) error {
		addr := p.Server.Addr()
		child := p.Child("scheduler")
		p.Ready()
		if err := host.CheckHealth(ctx, addr, false); err == nil || err.Error() != "not ready: scheduler: starting" {
			t.Errorf("before the child is ready: %v", err)
		}
		child.Ready()
		same(t, nil, host.CheckHealth(ctx, addr, false))
		p.Cleanup("last look", 0, func(context.Context) error {
			if status, _ := ask(t, "GET", addr, "/healthz"); status != 200 {
				t.Errorf("healthz while ending: %d", status)
			}
			return nil
		})
		signals <- syscall.SIGINT
		<-p.Intake().Done()
		if err := host.CheckHealth(ctx, addr, false); err == nil || !strings.Contains(err.Error(), "draining") {
			t.Errorf("while draining: %v", err)
		}
		return nil
	}})
	same(t, host.ExitOK, code)
}
