package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// shelf stores blobs, and counts the bytes that were put.
type shelf struct {
	blobs map[string][]byte
	put   int
}

func (s *shelf) PutBlob(_ context.Context, _ string, data []byte) (events.Ref, error) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	s.blobs[digest] = append([]byte(nil), data...)
	s.put += len(data)
	return events.Ref{Digest: digest, Size: int64(len(data))}, nil
}

func (s *shelf) GetBlob(_ context.Context, _, digest string) ([]byte, error) {
	if data, ok := s.blobs[digest]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

// told is a job whose work is built by hand.
type told struct {
	t     testing.TB
	f     *fake
	p     *Partition
	j     *job
	shelf *shelf
}

// tell begins a job with a request and a plan.
func tell(t testing.TB, r events.Request, plan *events.Plan) *told {
	t.Helper()
	f := newFake()
	s := Settings{Names: events.NewNames(""), CacheBytes: 64 << 20}
	b := &told{t: t, f: f, p: New(s, Ports{Publisher: f, Log: f, Sweeper: f, States: f, Journals: f, Alarms: f, Blobs: f, Meter: f})}
	b.shelf = &shelf{blobs: map[string][]byte{}}
	b.p.builder.Blobs = b.shelf
	r.ID = "j"
	b.j = b.p.cache.get("j")
	state := musttest.Get(graph.New(f.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: r, Rules: events.Rules{Version: events.RulesVersion, MaxSteps: 9999, MaxPlanRounds: 9, LifeCycle: 3, Finalize: "tails", FailurePolicy: events.FailFast},
	})))(t)
	b.j.state = state
	if plan != nil {
		b.step(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: plan})
	}
	return b
}

// step applies an event.
func (b *told) step(kind events.Kind, subjob string, run int, data any) {
	b.t.Helper()
	if effect := b.j.state.Step(b.f.add(kind, subjob, run, data)); effect.Verdict != graph.Applied {
		b.t.Fatalf("%s of %s: %+v", kind, subjob, effect)
	}
}

// work builds the pending work, by SubJob, and returns the bytes of all of it.
func (b *told) work() (all map[string]*events.Work, size int) {
	b.t.Helper()
	all = map[string]*events.Work{}
	for {
		var done []graph.CommandID
		for _, cmd := range b.j.state.Pending() {
			done = append(done, cmd.CommandID)
			if cmd.Kind != graph.RunSubJob {
				continue
			}
			m, err := b.p.builder.build(b.t.Context(), b.j, &cmd, "")
			if err != nil {
				b.t.Fatal(err)
			}
			w := &events.Work{}
			musttest.Do(b.t, events.ReadWork(m.Work, w))
			size += len(m.Work)
			all[cmd.SubJob] = w
		}
		if len(done) == 0 {
			return all, size
		}
		b.j.state.Sent(done...)
	}
}

// brief reads the brief of work, including its blob.
func (b *told) brief(w *events.Work) *brief.Brief {
	b.t.Helper()
	var rest []byte
	if w.BriefRef != nil {
		rest = b.shelf.blobs[w.BriefRef.Digest]
	}
	got, err := brief.Read(w.Brief, rest)
	if err != nil || got == nil {
		b.t.Fatalf("%s has the brief %+v, %v", w.SubJob, got, err)
	}
	return got
}

// chain is a plan of steps in a row.
func chain(n int, title func(i int) string) *events.Plan {
	p := &events.Plan{Title: "The plan"}
	for i := range n {
		s := events.SubJob{ID: "s" + strconv.Itoa(i+1), Goal: "goal " + strconv.Itoa(i+1), Title: title(i), Expert: "x", Pool: "default"}
		if i > 0 {
			s.Dependencies = []string{"s" + strconv.Itoa(i)}
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return p
}

// proves O-weakness-7
// proves C2
// proves O8
func TestEveryRunIsToldTheRequestAndWhereItsStepStands(t *testing.T) {
	r := events.Request{Goal: "Write about boats", Context: "for children", Inputs: map[string]json.RawMessage{"b": []byte("1"), "a": []byte("2")}, Session: "s", Thread: "th", User: "ann", Locale: "en"}
	b := tell(t, r, chain(3, func(i int) string { return []string{"Find", "", "Check"}[i] }))
	b.work()
	b.step(events.KindSubJobReported, "s1", 1, success)
	all, _ := b.work()
	got := musttest.JSON(t, b.brief(all["s2"]))
	want := `{"v":1,"job":"j","request":{"goal":"Write about boats","context":"for children","inputs":["a","b"]},` +
		`"plan":{"version":1,"title":"The plan","steps":[{"id":"s1","title":"Find","status":"completed"},{"id":"s2","title":"goal 2","status":"in_progress"},{"id":"s3","title":"Check","status":"not_started"}]},` +
		`"place":{"id":"s2","title":"goal 2","status":"in_progress","n":2,"of":3},"marks":{"completed":1,"in_progress":1,"not_started":1,"blocked":0},` +
		`"predecessors":[{"id":"s1","title":"Find","status":"completed"}],"successors":[{"id":"s3","title":"Check","status":"not_started"}],` +
		`"locale":"en","session":"s","thread":"th","user":"ann"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if all["s2"].BriefRef != nil {
		t.Error("a small job has a blob for its brief")
	}
}

func TestPlanningWorkIsToldWhatIsKnown(t *testing.T) {
	b := tell(t, events.Request{Goal: "g", User: "ann"}, nil)
	all, _ := b.work()
	if got := b.brief(all[events.PlanID]); got.Request.Goal != "g" || got.User != "ann" || got.Plan != nil || got.Place != nil {
		t.Errorf("%+v", got)
	}
}

// wide is a plan of independent steps.
func wide(n int, title string) *events.Plan {
	p := chain(n, func(i int) string { return title + strconv.Itoa(i) })
	for i := range p.SubJobs {
		p.SubJobs[i].Dependencies = nil
	}
	return p
}

func TestTheWorkOfALargeJobGrowsWithTheJobAndNotWithItsSquare(t *testing.T) {
	title := strings.Repeat("长标题 with \x00 control\n", 20)
	each := map[int]int{}
	few, many := 500, 2000
	if testing.Short() {
		few, many = 100, 400
	}
	for _, n := range []int{few, many} {
		b := tell(t, events.Request{Goal: "g", Context: strings.Repeat("背景", 33_000) + " the end"}, wide(n, title))
		all, size := b.work()
		if len(all) != n {
			t.Fatalf("%d works", len(all))
		}
		each[n] = size / n
		if len(b.shelf.blobs) != 1 || b.shelf.put > 200_000+n*200 {
			t.Errorf("%d blobs of %d bytes were put for %d steps", len(b.shelf.blobs), b.shelf.put, n)
		}
		last := all["s"+strconv.Itoa(n)]
		inline := b.brief(&events.Work{Brief: last.Brief})
		if len(last.Brief) > 4<<10 || !utf8.Valid(last.Brief) || inline.Plan.Steps != nil || !strings.HasSuffix(inline.Request.Context, "背…") && !strings.HasSuffix(inline.Request.Context, "景…") {
			t.Errorf("%d bytes inline: %.2000s", len(last.Brief), last.Brief)
		}
		got := b.brief(last)
		if len(got.Plan.Steps) != n || !strings.HasSuffix(got.Request.Context, " the end") || got.Place.N != n || got.Place.Of != n {
			t.Errorf("%d steps, place %+v", len(got.Plan.Steps), got.Place)
		}
		for _, s := range got.Plan.Steps {
			if len(s.Title) > brief.MaxTitle || !utf8.ValidString(s.Title) || strings.ContainsAny(s.Title, "\x00\n") {
				t.Fatalf("title %q", s.Title)
			}
		}
	}
	if each[many] > each[few]+64 {
		t.Errorf("a work message of %d steps has %d bytes, of %d steps %d", few, each[few], many, each[many])
	}
}

func TestSplitsOfALargePlanDoNotStoreItEachTime(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 100
	}
	b := tell(t, events.Request{Goal: "g"}, wide(n, strings.Repeat("t", 90)))
	b.work()
	one := b.shelf.put
	for i := range n {
		id := "s" + strconv.Itoa(i+1)
		b.step(events.KindSubJobReported, id, 1, &events.SubJobReported{Outcome: events.TooComplicated})
		b.step(events.KindGraphCreated, id, 2, &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "x", Goal: "gx", Title: "first part", Expert: "x", Pool: "default"}, {ID: "y", Goal: "gy", Expert: "x", Pool: "default", Dependencies: []string{"x"}},
		}}})
		all, _ := b.work()
		got := b.brief(all[id+"~2~x"])
		if got.Place.Title != "first part" || len(got.Successors) != 1 || got.Successors[0].Title != "gy" || got.Place.Of != n+i+1 {
			t.Fatalf("%+v", got)
		}
	}
	if b.shelf.put > 16*one {
		t.Errorf("%d bytes were put for a list of %d", b.shelf.put, one)
	}
}

func TestANewPlanIsStoredAtOnce(t *testing.T) {
	b := tell(t, events.Request{Goal: "g"}, wide(100, "old title "))
	b.work()
	plan := wide(100, "old title ")
	plan.SubJobs[98].Title = "changed"
	plan.SubJobs[99].ID, plan.SubJobs[99].Title = "other", "new"
	b.step(events.KindPlanEdited, "", 0, &events.PlanEdited{PlanVersion: 1, Plan: plan})
	all, _ := b.work()
	got := b.brief(all["other"])
	if last := got.Plan.Steps; len(last) != 100 || last[98].Title != "changed" || last[99].ID != "other" || last[99].Title != "new" {
		t.Errorf("%+v", got.Plan.Steps[97:])
	}
}

func TestWorkThatDoesNotFitAMessageHasItsBriefInABlob(t *testing.T) {
	plan := chain(1, func(int) string { return "" })
	plan.SubJobs[0].Goal = strings.Repeat("g", (events.MaxMessage-1500)/2)
	b := tell(t, events.Request{Goal: "the request", Context: strings.Repeat("c", 2000)}, plan)
	all, size := b.work()
	w := all["s1"]
	if size > events.MaxMessage || w.Brief != nil || w.Spec.Goal == "" {
		t.Fatalf("%d bytes, %d of them brief", size, len(w.Brief))
	}
	if got := b.brief(w); got.Request.Goal != "the request" || len(got.Request.Context) != 2000 || got.Place.N != 1 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkWork(b *testing.B) {
	plans := map[string]*events.Plan{
		"one step": chain(1, func(int) string { return "" }), "ten steps": wide(10, "A title of usual length for step "),
		"a hundred": wide(100, "A title of usual length for step "),
	}
	for _, name := range []string{"one step", "ten steps", "a hundred"} {
		b.Run(name, func(b *testing.B) {
			j := tell(b, events.Request{Goal: "a goal of some words", Inputs: map[string]json.RawMessage{"path": []byte(`"x"`)}}, plans[name])
			var cmd graph.Command
			for _, c := range j.j.state.Pending() {
				if c.Kind == graph.RunSubJob {
					cmd = c
				}
			}
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				m, err := j.p.builder.build(b.Context(), j.j, &cmd, "")
				if err != nil {
					b.Fatal(err)
				}
				size = len(m.Work)
			}
			b.ReportMetric(float64(size), "bytes/work")
		})
	}
}

func TestAJobThatComesAgainUnderItsIDHasABriefOfItsOwn(t *testing.T) {
	b := tell(t, events.Request{Goal: "the old request"}, wide(100, "old title "))
	b.work()
	b.p.cache.drop(b.j)
	state := musttest.Get(graph.New(b.f.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{Goal: "the new request"}, Rules: events.Rules{Version: events.RulesVersion, MaxSteps: 9999, MaxPlanRounds: 9, Finalize: "tails", FailurePolicy: events.FailFast},
	})))(t)
	b.j.state = state
	b.step(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: wide(100, "new title ")})
	all, _ := b.work()
	if got := b.brief(all["s7"]); got.Request.Goal != "the new request" || got.Place.Title != "new title 6" || got.Plan.Steps[6].Title != "new title 6" {
		t.Errorf("%+v", got)
	}
}
