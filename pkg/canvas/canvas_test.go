package canvas_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// grown returns the log of a job whose step b fails once and is then split, and whose step c is rerun by a person.
func grown(t *testing.T) []events.Event {
	t.Helper()
	r, err := jobtest.Script{
		Request: events.Request{Goal: "grow"},
		Planner: func(w events.Work) (*events.Plan, error) {
			if w.Kind != events.WorkSplit {
				return &events.Plan{Title: "Grow", SubJobs: []events.SubJob{
					{ID: "a", Goal: "a", Expert: "e", Title: "Begin"},
					{ID: "b", Goal: "b", Expert: "e", Dependencies: []string{"a"}},
					{ID: "never", Goal: "n", Expert: "e", Dependencies: []string{"a"}, When: `a.again == true`},
					{ID: "c", Goal: "c", Expert: "e", Dependencies: []string{"b"}},
				}}, nil
			}
			return &events.Plan{SubJobs: []events.SubJob{{ID: "x", Goal: "x", Expert: "e"}, {ID: "y", Goal: "y", Expert: "e", Dependencies: []string{"x"}}}}, nil
		},
		Default: func(w events.Work) events.SubJobReported {
			var r events.SubJobReported
			switch {
			case w.SubJob == "b" && w.Run == 1:
				r = jobtest.Fail("slower")
			case w.SubJob == "b":
				r = jobtest.TooComplicated("too much")
			default:
				r = jobtest.Succeed(map[string]bool{"again": false})
			}
			r.DurationMS, r.Owner, r.Spent = 500, "runner of "+w.SubJob, events.Spent{Tokens: 10, CostUSD: 0.5}
			return r
		},
		Acts: []jobtest.Act{{At: 3 * time.Second, Kind: events.KindRerunRequested, Data: &events.RerunRequested{SubJob: "a"}}},
	}.Run()
	if err != nil || r.State.Status != events.Finished {
		t.Fatal(r.State.Status, r.State.Error, err)
	}
	return r.Events
}

// follow takes events up to and including a sequence, 0 for all.
func follow(t *testing.T, log []events.Event, until uint64) *canvas.Canvas {
	t.Helper()
	c := &canvas.Canvas{}
	for i := range log {
		if until > 0 && log[i].Seq > until {
			break
		}
		musttest.Do(t, c.Take(&log[i]))
	}
	return c
}

// wound computes the states of all SubJobs at an event from a timeline, as a page does.
func wound(l verb.Timeline, seq uint64) (states map[string]string, picture *verb.Picture) {
	states = map[string]string{}
	for i := range l.Layouts {
		if p := &l.Layouts[i]; p.Seq <= seq {
			picture = p
			for _, b := range p.SubJobs {
				if _, ok := states[b.ID]; !ok {
					states[b.ID] = canvas.Planned
				}
			}
		}
	}
	for _, m := range l.Moves {
		if m[0].(uint64) <= seq {
			states[l.IDs[m[1].(int)]] = m[2].(string)
		}
	}
	return states, picture
}

func TestATimelineWoundToAnEventIsTheGraphAtThatEvent(t *testing.T) {
	log := grown(t)
	l := follow(t, log, 0).Timeline()
	for _, e := range log {
		g := follow(t, log, e.Seq).Graph()
		states, picture := wound(l, e.Seq)
		want := map[string]string{}
		for _, n := range append(g.SubJobs, g.Replaced...) {
			want[n.ID] = n.State
		}
		delete(states, events.PlanID)
		delete(states, events.FinalID)
		if diff := cmp.Diff(want, states); diff != "" {
			t.Fatalf("at %d, %s: (-graph +timeline)\n%s", e.Seq, e.Kind, diff)
		}
		if picture == nil {
			continue
		}
		var boxes []verb.PictureBox
		for _, n := range g.SubJobs {
			boxes = append(boxes, verb.PictureBox{ID: n.ID, Title: n.Title, Expert: n.Expert, Box: *n.Box, Version: n.Version})
		}
		if diff := cmp.Diff(boxes, picture.SubJobs); diff != "" {
			t.Fatalf("at %d, %s: (-graph +timeline)\n%s", e.Seq, e.Kind, diff)
		}
	}
}

func TestAGraphTellsOfEachSubJobWhatAPersonWantsToKnow(t *testing.T) {
	log := grown(t)
	g := follow(t, log, 0).Graph()
	if g.Status != events.Finished || g.Title != "Grow" || g.PlanVersion != 2 || g.Seq != log[len(log)-1].Seq || g.Cost.Tokens == 0 || g.Ended.IsZero() {
		t.Errorf("%+v", g)
	}
	nodes := map[string]verb.Node{}
	for _, n := range append(g.SubJobs, g.Replaced...) {
		nodes[n.ID] = n
	}
	a, b, never := nodes["a"], nodes["b"], nodes["never"]
	if a.State != canvas.Finished || a.Run != 2 || a.Owner != "runner of a" || a.Tokens != 20 || a.CostUSD != 1 || a.Version != 1 || a.Box == nil || a.Ready.IsZero() {
		t.Errorf("%+v", a)
	}
	if b.State != canvas.Replaced || b.ReplacedIn != 2 || b.Box != nil || b.Lessons == 0 || len(b.ReplacedBy) != 1 {
		t.Errorf("%+v", b)
	}
	if never.State != canvas.Skipped || never.Reason == "" {
		t.Errorf("%+v", never)
	}
	part := nodes[b.ReplacedBy[0]]
	if part.Version != 2 || part.Group != "b" || len(part.Deps) != 1 {
		t.Errorf("%+v", part)
	}
	if g.Counts[canvas.Finished] != 4 || g.Counts[canvas.Skipped] != 1 || g.Counts[canvas.Replaced] != 1 || g.Counts[canvas.Running] != 0 {
		t.Errorf("%v", g.Counts)
	}
	want := []verb.PlanVersion{{Version: 1, Seq: g.Versions[0].Seq, Time: g.Versions[0].Time, Total: 4, By: "planner"}, {
		Version: 2, Seq: g.Versions[1].Seq, Time: g.Versions[1].Time, Total: 5, By: "planner", Added: []string{"b~3~x", "b~3~y"}, Removed: []string{"b"},
	}}
	musttest.Equal(t, want, g.Versions)
}

func TestRunsHaveTheTimesOfTheirQueueAndTheirWork(t *testing.T) {
	l := follow(t, grown(t), 0).Timeline()
	var of []verb.RunLine
	for _, r := range l.Runs {
		if r.Queued == nil || r.Started == nil && r.SubJob != events.PlanID && r.SubJob != "b" || r.Ended == nil || *r.Ended < *r.Queued || r.Started != nil && *r.Started < *r.Queued {
			t.Errorf("%+v", r)
		}
		if r.SubJob == "b" {
			of = append(of, r)
		}
	}
	if len(of) != 3 || of[0].Outcome != string(events.ExecutionError) || of[1].Outcome != string(events.TooComplicated) || *of[0].Ended-*of[0].Started != 500 || of[0].Tokens != 10 {
		t.Errorf("%+v", of)
	}
}

// A step that is too complicated goes from READY to READY if its run ended at once: the run that splits it is issued without a
// transition.
func TestARunThatIsIssuedWithoutAMoveIsSeen(t *testing.T) {
	r := musttest.Get(jobtest.Script{
		Plan:    &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "a", Expert: "e"}}},
		Planner: func(events.Work) (*events.Plan, error) { return nil, errors.New("no plan") },
		Default: func(events.Work) events.SubJobReported { return jobtest.TooComplicated("too much") },
	}.Run())(t)
	r.Events = slices.DeleteFunc(r.Events, func(e events.Event) bool { return e.Kind == events.KindSubJobStarted })
	var issued []int
	l := follow(t, r.Events, 0).Timeline()
	for _, run := range l.Runs {
		if run.SubJob == "a" && run.Queued != nil {
			issued = append(issued, run.Run)
		}
	}
	var moves []any
	for _, m := range l.Moves {
		if l.IDs[m[1].(int)] == "a" {
			moves = append(moves, fmt.Sprint(m[2], m[3]))
		}
	}
	if len(issued) < 2 || !slices.Contains(moves, any("ready2")) {
		t.Errorf("runs %v, moves %v", issued, moves)
	}
}

func TestAMilestoneIsAChange(t *testing.T) {
	log := grown(t)
	at := slices.IndexFunc(log, func(e events.Event) bool { return e.Kind == events.KindSubJobStarted && e.SubJob == "a" })
	c := follow(t, log, log[at].Seq)
	musttest.Do(t, c.Take(&events.Event{
		Seq: log[at].Seq + 1, Time: log[at].Time, Kind: events.KindSubJobProgressed, Job: log[at].Job, SubJob: "a", Run: 1, Data: &events.SubJobProgressed{Message: "half", Done: 1, Total: 2},
	}))
	if g := c.Since(log[at].Seq); len(g.SubJobs) != 1 || g.SubJobs[0].Progress == nil || g.SubJobs[0].Progress.Message != "half" {
		t.Errorf("%+v", g.SubJobs)
	}
}

func TestWhatChangedSinceAnEventIsAllThatAPageNeeds(t *testing.T) {
	log := grown(t)
	for _, from := range log {
		page := map[string]verb.Node{}
		first := follow(t, log, from.Seq).Graph()
		for _, n := range append(first.SubJobs, first.Replaced...) {
			page[n.ID] = n
		}
		for _, e := range log {
			if e.Seq < from.Seq {
				continue
			}
			c := follow(t, log, e.Seq)
			whole, part := c.Graph(), c.Since(from.Seq)
			if !part.Partial {
				continue // The graph has another version: the page loads it as a whole.
			}
			now := map[string]verb.Node{}
			for id, n := range page {
				now[id] = n
			}
			for _, n := range append(part.SubJobs, part.Replaced...) {
				now[n.ID] = n
			}
			want := map[string]verb.Node{}
			for _, n := range append(whole.SubJobs, whole.Replaced...) {
				want[n.ID] = n
			}
			if diff := cmp.Diff(want, now); diff != "" {
				t.Fatalf("from %d to %d: %s", from.Seq, e.Seq, diff)
			}
			if from.Seq == e.Seq && len(part.SubJobs) > 0 {
				t.Fatalf("%d SubJobs changed since now", len(part.SubJobs))
			}
		}
	}
}

func TestManyAlikeSubJobsAreAGroup(t *testing.T) {
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "begin", Goal: "g", Expert: "e"}}}
	end := events.SubJob{ID: "end", Goal: "g", Expert: "e"}
	for i := range 9 {
		id := fmt.Sprintf("n%d", i)
		expert := "many"
		if i == 8 {
			expert = "other"
		}
		plan.SubJobs = append(plan.SubJobs, events.SubJob{ID: id, Goal: "g", Expert: expert, Dependencies: []string{"begin"}})
		end.Dependencies = append(end.Dependencies, id)
	}
	plan.SubJobs = append(plan.SubJobs, end)
	r := musttest.Get(jobtest.Script{Plan: plan, Default: func(events.Work) events.SubJobReported { return jobtest.Succeed(1) }}.Run())(t)
	groups := map[string]int{}
	for _, n := range follow(t, r.Events, 0).Graph().SubJobs {
		groups[n.Group]++
	}
	musttest.Equal(t, map[string]int{"": 3, "many n0": 8}, groups)
}

func TestAPlanIsDrawnBeforeItRuns(t *testing.T) {
	picture, faults := canvas.Draft(&events.Plan{SubJobs: []events.SubJob{{ID: "a", Title: "A"}, {ID: "b", Expert: "e", Dependencies: []string{"a", "a"}}}})
	if len(faults) > 0 || len(picture.SubJobs) != 2 || len(picture.Edges) != 1 || picture.SubJobs[1].Y <= picture.SubJobs[0].Y || picture.SubJobs[0].Title != "A" {
		t.Errorf("%+v, %v", picture, faults)
	}
	for want, steps := range map[events.Code][]events.SubJob{
		events.CodeDuplicateID: {{ID: "a"}, {ID: "a"}},
		events.CodeDangling:    {{ID: "a", Dependencies: []string{"x"}}},
		events.CodeCycle:       {{ID: "a", Dependencies: []string{"b"}}, {ID: "b", Dependencies: []string{"a"}}},
	} {
		if picture, faults := canvas.Draft(&events.Plan{SubJobs: steps}); len(faults) != 1 || faults[0].Code != want || len(picture.SubJobs) != len(steps) {
			t.Errorf("%s: %v", want, faults)
		}
	}
}

// BenchmarkGraph measures what a page with 1,000 SubJobs costs: following the log, and one answer.
func BenchmarkGraph(b *testing.B) {
	plan := &events.Plan{}
	for i := range 1000 {
		s := events.SubJob{ID: fmt.Sprint("n", i), Goal: "g", Expert: "e"}
		if i >= 100 {
			s.Dependencies = []string{fmt.Sprint("n", i-100), fmt.Sprint("n", i-i%7-90)}
		}
		plan.SubJobs = append(plan.SubJobs, s)
	}
	r := musttest.Get(jobtest.Script{Plan: plan, Default: func(events.Work) events.SubJobReported { return jobtest.Succeed(1) }}.Run())(b)
	var c *canvas.Canvas
	b.Run("follow", func(b *testing.B) {
		for b.Loop() {
			c = &canvas.Canvas{}
			for i := range r.Events {
				musttest.Do(b, c.Take(&r.Events[i]))
			}
		}
	})
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			if g := c.Graph(); len(g.SubJobs) != 1000 {
				b.Fatal(len(g.SubJobs))
			}
		}
	})
}
