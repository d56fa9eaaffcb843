package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// An ended run leaves nothing behind in its runner, however it ended: its inputs can be garbage-collected.
// proves F-T11
func TestNothingIsKeptOfARunThatIsOver(t *testing.T) {
	const runs = 30
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		var mu sync.Mutex
		var given []weak.Pointer[app.Task]
		ends := []app.Func{
			func(_ context.Context, t *app.Task) (events.SubJobReported, error) {
				return events.SubJobReported{Output: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)}, nil
			},
			func(context.Context, *app.Task) (events.SubJobReported, error) { panic("ouch") },
			func(ctx context.Context, _ *app.Task) (events.SubJobReported, error) {
				<-ctx.Done()
				return events.SubJobReported{}, ctx.Err()
			},
			func(context.Context, *app.Task) (events.SubJobReported, error) {
				return events.SubJobReported{}, &app.Park{Input: events.InputRequested{Request: "q", Kind: events.InputClarification, Prompt: "Which?"}}
			},
		}
		var functions []app.Function
		for i, end := range ends {
			functions = append(functions, function(fmt.Sprint("f", i), false, func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
				mu.Lock()
				given = append(given, weak.Make(t))
				mu.Unlock()
				return end(ctx, t)
			}))
		}
		start(w, app.Settings{}, app.Deps{Functions: functions})
		second := events.Duration(time.Second)
		for i := range runs {
			o := work(fmt.Sprint("f", i%len(ends)), fmt.Sprint("j", i), "a", 1)
			o.Spec.Timeout = &second
			w.Issue(o)
		}
		w.Idle()
		collect(w)
		mu.Lock()
		defer mu.Unlock()
		if kept := inMemory(given); len(given) != runs || kept > 0 {
			t.Errorf("of %d runs %d are still in memory", len(given), kept)
		}
	})
}

// forgetful is a model that keeps nothing of its questions, and counts what is kept of them elsewhere.
type forgetful struct {
	mu    sync.Mutex // Guards asked.
	asked []weak.Pointer[http.Request]
}

func (m *forgetful) Do(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, weak.Make(r))
	m.mu.Unlock()
	return carefulModel().Do(r)
}

// proves F-T11
func TestNothingIsKeptOfAConversationThatIsOver(t *testing.T) {
	const runs = 5
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := &forgetful{}
		start(w, agents(t, card(t, careful)), app.Deps{Doer: model})
		for i := range runs {
			o := work("agent", fmt.Sprint("j", i), "a", 1)
			w.Issue(o)
			if got := w.Report(o); got.Outcome != events.Success {
				t.Errorf("%+v", got)
			}
		}
		w.Idle()
		collect(w)
		model.mu.Lock()
		defer model.mu.Unlock()
		if kept := inMemory(model.asked); len(model.asked) != 3*runs || kept > 0 {
			t.Errorf("of %d questions %d are still in memory", len(model.asked), kept)
		}
	})
}

// collect collects garbage after everything postponed has run.
func collect(w *servicetest.Env) {
	<-time.After(time.Minute)
	synctest.Wait()
	runtime.GC()
	runtime.GC()
}

// inMemory counts what is still in memory.
func inMemory[T any](list []weak.Pointer[T]) (n int) {
	for _, p := range list {
		if p.Value() != nil {
			n++
		}
	}
	return n
}
