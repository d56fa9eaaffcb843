package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// life is one SubJob whose runners die one after another. The work is delivered again after the lease, and questions are answered
// with retry, until a run has reported.
type life struct {
	*ports
	t      *testing.T
	kind   string
	script []int // The boundary at which each runner dies, counted from 1; 0 for none.
	// made lists, for each effect, the sequences of the intents under which it was made.
	made  map[string][]uint64
	died  int // How many runners have died at a boundary.
	asked int
}

// makes records that an effect is made, and checks that this is permitted: each earlier time must have been decided by name.
func (l *life) makes(key string) {
	l.Lock()
	defer l.Unlock()
	intent := uint64(0)
	decided := map[uint64]bool{}
	for i := range l.Entries {
		r := &l.Entries[i]
		switch {
		case r.Key != key:
		case r.Type == events.JournalIntent, r.Type == events.JournalClaimed && r.Name != "":
			intent = l.Entries[i].Seq
		case r.Type == events.JournalResult && r.Decides > 0:
			decided[r.Decides] = true
		case r.Type == events.JournalResult && r.Reason == "":
			l.t.Errorf("%s %v: %s is made again behind its result", l.kind, l.script, key)
		case r.Type == events.JournalResult: // The call has failed and has said so.
			decided[intent] = true
		}
	}
	for _, was := range l.made[key] {
		if !decided[was] {
			l.t.Errorf("%s %v: %s is made a second time without a decision about %d", l.kind, l.script, key, was)
		}
	}
	if intent == 0 || slices.Contains(l.made[key], intent) {
		l.t.Errorf("%s %v: %s is made without an intent of its own", l.kind, l.script, key)
	}
	l.made[key] = append(l.made[key], intent)
}

// kinds are the forms of effects that experts have: in the claim, alone, among others, and broken off.
func (l *life) kinds() map[string]does {
	call := func(ctx context.Context, t *expert.Task, key string) (json.RawMessage, error) {
		return t.Hand.Do(ctx, expert.Effect{Key: key, Name: key, Args: json.RawMessage(`{"n":1}`)}, func(context.Context) (json.RawMessage, error) {
			l.makes(key)
			return json.RawMessage("1"), nil
		})
	}
	end := func(err error) task.Ending {
		if err != nil {
			return task.Failure(events.CodeExecution, err.Error(), "", "")
		}
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
	}
	return map[string]does{
		"command": func(context.Context, *expert.Task) task.Ending {
			l.makes(jobrun.Command)
			return end(nil)
		},
		"func": func(ctx context.Context, t *expert.Task) task.Ending {
			_, err := call(ctx, t, "pay")
			return end(err)
		},
		"agent": func(ctx context.Context, t *expert.Task) task.Ending {
			_, err := t.Hand.Do(ctx, expert.Effect{Key: "model/1", Name: "model", Safe: true}, func(context.Context) (json.RawMessage, error) {
				return json.RawMessage("0"), nil
			})
			for _, key := range []string{"tool/1/0", "tool/1/1"} {
				if err == nil {
					_, err = call(ctx, t, key)
				}
			}
			return end(err)
		},
		"http": func(ctx context.Context, t *expert.Task) task.Ending {
			broken := len(l.made["http"]) == 0
			_, err := t.Hand.Do(ctx, expert.Effect{Key: "http", Name: "http"}, func(context.Context) (json.RawMessage, error) {
				l.makes("http")
				if broken {
					return nil, fmt.Errorf("%w: EOF", expert.ErrUnknown)
				}
				return json.RawMessage("1"), nil
			})
			if errors.Is(err, expert.ErrUnknown) {
				return task.Doubt(t.Work, "It broke off.", jobrun.Effect{Key: "http", Name: "http"})
			}
			return end(err)
		},
	}
}

// answers is a hook with the same outcome for every effect.
type answers jobrun.Outcome

func (a answers) Reconcile(context.Context, expert.Inquiry) jobrun.Resolution {
	return jobrun.Resolution{State: jobrun.Outcome(a), Reason: "the hook says so"}
}

// live plays the script. It returns how many runners have died at the boundary that the script sets for them.
func live(t *testing.T, kind string, hook jobrun.Outcome, script ...int) (died int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &life{ports: newPorts(0), t: t, kind: kind + " " + string(hook), script: script, made: map[string][]uint64{}}
		told := map[string]events.InputClosed{}
		run := 1
		for n := range 20 {
			l.deliver(n, run, kind, hook, told)
			l.Lock()
			over := slices.Contains(l.lines, fmt.Sprintf("%s %d", events.KindSubJobReported, run))
			asks := slices.Contains(l.lines, fmt.Sprintf("%s %d", events.KindInputRequested, run))
			l.Unlock()
			if over {
				break
			}
			if asks {
				l.asked++
				told[jobrun.RequestID("a", run, "unknown")] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"retry"`)}
				run++
			}
			<-time.After(2 * leaseTime)
			if n == 19 {
				t.Errorf("%s %v: no report after 20 deliveries: %s", l.kind, script, strings.Join(l.lines, ", "))
			}
		}
		begun := 0
		for _, list := range l.made {
			begun += len(list)
		}
		if begun == 0 || l.asked > l.died+1 {
			t.Errorf("%s %v: %d effects, %d questions after %d deaths", l.kind, script, begun, l.asked, l.died)
		}
		died = l.died
	})
	return died
}

// deliver delivers the run to the nth runner.
func (l *life) deliver(n, run int, kind string, hook jobrun.Outcome, told map[string]events.InputClosed) {
	x := &expert.Expert{Card: events.Card{ID: "x"}, Runner: l.kinds()[kind]}
	if kind == "command" {
		x.Intent = jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command}
	}
	if hook != "" {
		x.Reconciler = answers(hook)
	}
	loop := New(Settings{
		Names: events.NewNames(""), Owner: fmt.Sprint("runner ", n), Experts: map[string]*expert.Expert{"x": x}, Concurrency: 1,
		Journal: l, Log: l, States: saved{l.ports}, Blobs: l, Meter: meter.New(metrics{}), Logger: slog.New(slog.DiscardHandler),
	})
	boundary := 0
	loop.Hook = func(Point, string) error {
		if boundary++; n < len(l.script) && l.script[n] > 0 && boundary >= l.script[n] {
			if boundary == l.script[n] {
				l.died++
			}
			return errors.New("killed")
		}
		return nil
	}
	work := events.Work{Job: "j", SubJob: "a", Run: run, ResumeOf: run - 1, Lease: events.Duration(leaseTime), Goal: "g", Answers: told}
	body := musttest.JSON(l.t, work)
	subject := loop.Names.WorkFor(events.DefaultPool, "x", "j", "a", run)
	loop.handle(l.t.Context(), &queue.Delivery{Subject: subject, Body: body, Count: 1, Stored: time.Now(), Receipt: l})
}

// A runner dies at each boundary, its successor at each of its own, and so does the next, with a decision of a person or a hook in
// between. No effect is repeated without a decision about the time before.
func TestNoNumberOfDeathsMakesAnEffectAgainWithoutADecision(t *testing.T) {
	const most = 40 // More boundaries than any run has.
	chance := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []string{"command", "func", "agent", "http"} {
		for _, hook := range []jobrun.Outcome{"", jobrun.NotDone, jobrun.Unknown} {
			t.Run(kind+" "+string(hook), func(t *testing.T) {
				pairs := 0
				for first := 1; first < most; first++ {
					if live(t, kind, hook, first) == 0 {
						break
					}
					for second := 1; second < most && live(t, kind, hook, first, second) == 2; second++ {
						pairs++
						if chance.IntN(3) == 0 {
							live(t, kind, hook, first, second, 1+chance.IntN(10), 1+chance.IntN(10), 1+chance.IntN(10))
						}
					}
				}
				if pairs < 20 {
					t.Errorf("only %d pairs of boundaries", pairs)
				}
			})
		}
	}
}
