package history

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// archive is a log in memory, by job.
type archive struct {
	jobs  map[string][]events.Event
	blobs map[string]string
}

func (a *archive) EventsOf(_ context.Context, job string, _ uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for _, e := range a.jobs[job] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (a *archive) LastOn(_ context.Context, _, subject string) (bus.Stored, error) {
	for job, list := range a.jobs {
		for i := len(list) - 1; i >= 0; i-- {
			m, err := events.Encode(names, list[i])
			if err == nil && m.Subject == subject {
				return bus.Stored{Message: m, Seq: uint64(i + 1)}, nil
			}
			if list[i].Job != job {
				return bus.Stored{}, fmt.Errorf("event of %s under %s", list[i].Job, job)
			}
		}
	}
	return bus.Stored{}, bus.ErrNotFound
}

func (a *archive) GetBlob(_ context.Context, _, digest string) ([]byte, error) {
	if text, ok := a.blobs[digest]; ok {
		return []byte(text), nil
	}
	return nil, bus.ErrNotFound
}

var names = events.NewNames("")

// job adds the log of a job in a session.
func (a *archive) job(id, sessionID string, more ...events.Event) {
	list := append([]events.Event{{Kind: events.KindJobRequested, Data: &events.JobRequested{
		Request: events.Request{ID: id, Goal: "goal of " + id, Session: sessionID}, Rules: events.Rules{Version: 1},
	}}}, more...)
	for i := range list {
		list[i].Job, list[i].ID, list[i].Source = id, fmt.Sprint(id, "/", i), "test"
	}
	a.jobs[id] = list
}

func planned(steps ...events.SubJob) events.Event {
	return events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: steps}}}
}

func reported(subjob, output string) events.Event {
	return events.Event{Kind: events.KindSubJobReported, SubJob: subjob, Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(output)}}
}

func ended(status events.Status, result string, fault *events.Fault) events.Event {
	kind := map[events.Status]events.Kind{events.Finished: events.KindJobFinished, events.Failed: events.KindJobFailed, events.Stopped: events.KindJobStopped}[status]
	return events.Event{Kind: kind, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: status, Turn: 1}, Result: json.RawMessage(result), Error: fault}}
}

// of returns a reader of one session with these jobs.
func (a *archive) of(jobs ...string) *History {
	return New(names, a, func(_ context.Context, key string) ([]byte, uint64, error) {
		if key != "s" {
			return nil, 0, bus.ErrNotFound
		}
		var lines []map[string]string
		for _, id := range jobs {
			id, subjob, _ := strings.Cut(id, "/")
			lines = append(lines, map[string]string{"id": id, "subjob": subjob})
		}
		value, err := json.Marshal(map[string]any{"jobs": lines})
		return value, 1, err
	})
}

func newArchive() *archive {
	return &archive{jobs: map[string][]events.Event{}, blobs: map[string]string{}}
}

// proves C8
func TestQuestionsAndTheirAnswersArePartOfTheTurn(t *testing.T) {
	a := newArchive()
	ask := func(id, prompt string) events.Event {
		return events.Event{Kind: events.KindInputRequested, SubJob: events.PlanID, Run: 1, Data: &events.InputRequested{Request: id, Kind: events.InputClarification, Prompt: prompt}}
	}
	reply := func(id string, action events.InputAction, answer string) events.Event {
		return events.Event{Kind: events.KindInputClosed, Key: id, Data: &events.InputClosed{Action: action, Answer: json.RawMessage(answer)}}
	}
	a.job("j1", "s", ask("q1", "Which city?"), reply("q1", events.Answered, `"Lima"`), ask("q2", "May I?"), reply("q2", events.Answered, `{"approved":true}`),
		ask("q3", "And when?"), reply("q3", events.Expired, ""), ask("q4", "Still there?"), ended(events.Finished, `"done"`, nil))
	got := musttest.Get(a.of("j1").Before(t.Context(), "s", "j2", 10_000))(t)
	want := []planning.Turn{{User: "goal of j1", Answer: "done", Asked: []string{"Which city? → Lima", "May I? → approved", "And when? → (expired)", "Still there?"}}}
	musttest.Equal(t, want, got)
	if text := planning.History(got, 1000); !strings.Contains(text, "[Question → answer] Which city? → Lima\n") {
		t.Error(text)
	}
}

// proves C7
// proves C8
func TestTheTurnsBeforeAJobAreToldWithStepsAndAnswersInOrder(t *testing.T) {
	a := newArchive()
	a.job("j1", "s",
		planned(events.SubJob{ID: "a", Title: "Look", Goal: "look it up", ExpertName: "Finder", Thinking: "it has to be known"}, events.SubJob{ID: "b", Goal: "say it", Expert: "writer", Dependencies: []string{"a"}}),
		reported("a", `{"n":3}`), reported("b", `"It is three."`), ended(events.Finished, `"It is three."`, nil))
	a.job("j2", "s", ended(events.Failed, "", &events.Fault{Message: "nobody knows"}))
	a.job("foreign", "another")
	a.job("j3", "s", planned(events.SubJob{ID: "a", Goal: "go on"}))
	a.job("j4", "s")
	a.job("j5", "s")
	got := musttest.Get(a.of("j1", "gone", "j2", "foreign", "j9/a", "j3", "j4", "j5").Before(t.Context(), "s", "j4", 10_000))(t)
	want := []planning.Turn{
		{User: "goal of j1", Answer: "It is three.", Steps: []string{`Look (Finder): it has to be known → {"n":3}`, "say it (writer)"}},
		{User: "goal of j2", Answer: "(failed: nobody knows)"},
		{User: "goal of j3", Steps: []string{"go on"}},
	}
	musttest.Equal(t, want, got)
}

func TestTheFirstTurnHasNoPast(t *testing.T) {
	a := newArchive()
	a.job("j1", "s")
	for _, p := range []*History{a.of(), a.of("j1")} {
		for _, id := range []string{"s", "never heard of"} {
			if got, err := p.Before(t.Context(), id, "j1", 10_000); err != nil || got != nil {
				t.Errorf("%v, %v", got, err)
			}
		}
	}
}

func TestTheLatestTurnsCountMostAndAllOfItIsBounded(t *testing.T) {
	a := newArchive()
	var ids []string
	for i := range 30 {
		id := fmt.Sprint("j", i)
		ids = append(ids, id)
		a.job(id, "s", ended(events.Finished, `"`+strings.Repeat("x", 1000)+`"`, nil))
	}
	for most, want := range map[int]int{0: 0, 500: 1, 2500: 3, 1 << 20: mostTurns} {
		got, err := a.of(append(ids, "now")...).Before(t.Context(), "s", "now", most)
		if err != nil || len(got) != want {
			t.Fatalf("%d bytes: %d turns, want %d, %v", most, len(got), want, err)
		}
		if want > 0 && got[want-1].User != "goal of j29" {
			t.Errorf("the last one is %q", got[want-1].User)
		}
	}
}

func TestALongLogIsReadInPartAndItsEndIsLookedUp(t *testing.T) {
	a := newArchive()
	var more []events.Event
	for i := range mostEvents + 10 {
		more = append(more, reported(fmt.Sprint("s", i), `1`))
	}
	a.job("j1", "s", append(more, ended(events.Stopped, "", nil), ended(events.Finished, `"at last"`, nil))...)
	got, err := a.of("j1", "now").Before(t.Context(), "s", "now", 10_000)
	if err != nil || len(got) != 1 || got[0].Answer != "at last" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatWentByReferenceIsReadWhenItIsSmallAndThere(t *testing.T) {
	a := newArchive()
	a.blobs["p"], a.blobs["r"] = `{"subjobs":[{"id":"a","goal":"from afar"}]}`, `"a long result"`
	byRef := func(result events.Ref) []events.Event {
		end := ended(events.Finished, "", nil)
		end.Data.(*events.JobEnded).ResultRef = &result
		return []events.Event{{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{PlanRef: &events.Ref{Digest: "p", Size: 10}}}, end}
	}
	a.job("j1", "s", byRef(events.Ref{Digest: "r", Size: 10})...)
	a.job("j2", "s", byRef(events.Ref{Digest: "r", Size: mostPayload + 1})...)
	a.job("j3", "s", byRef(events.Ref{Digest: "gone", Size: 10})...)
	got := musttest.Get(a.of("j1", "j2", "j3").Before(t.Context(), "s", "now", 10_000))(t)
	var answers []string
	for _, turn := range got {
		answers = append(answers, strings.Join(turn.Steps, ",")+": "+turn.Answer)
	}
	musttest.Equal(t, []string{"from afar: a long result", "from afar: (done, without a result)", "from afar: (done, without a result)"}, answers)
}
