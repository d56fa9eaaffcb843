package semaphore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

func wants(job, group string, limit, steps int) *loop.Claim {
	c := &loop.Claim{Item: fair.Item{Job: job, Group: group}, Limit: limit}
	for i := range steps {
		c.Runs = append(c.Runs, graph.Run{SubJob: fmt.Sprintf("s%d", i), Run: 1})
	}
	return c
}

// holders are the runs with a slot, in the order of the record.
func (r *record) holders() []string {
	var list []string
	for _, e := range r.Jobs {
		for _, run := range e.Held {
			list = append(list, e.Job+"/"+run)
		}
	}
	return list
}

// Whatever jobs claim and release, in whatever order: no more runs than the limit have a slot, none is free while a job waits, and
// a job that got one without asking is notified, even when more of its runs wait than the record stores.
func TestSlotsUnderAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 3, 3 * mostWants}).Draw(t, "limit")
		r := &record{}
		live := map[string]*loop.Claim{}
		for action := range rapid.IntRange(1, 100).Draw(t, "actions") {
			job := fmt.Sprintf("j%d", rapid.IntRange(0, 6).Draw(t, "job"))
			c := live[job]
			if c == nil {
				c = wants(job, rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "group"), limit, 0)
				c.Priority = rapid.IntRange(0, 1).Draw(t, "priority")
				live[job] = c
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0: // Some more are ready.
				for range rapid.SampledFrom([]int{1, 1, 1, 2 * mostWants}).Draw(t, "more") {
					c.Runs = append(c.Runs, graph.Run{SubJob: fmt.Sprintf("s%d", len(c.Runs)), Run: 1 + action})
				}
			case 1: // One is over: whichever has a slot, or none that has was ended from outside.
				if len(c.Runs) > 0 {
					at := rapid.IntRange(0, len(c.Runs)-1).Draw(t, "over")
					c.Runs = slices.Delete(slices.Clone(c.Runs), at, at+1)
				}
			}
			was := r.called()
			value := musttest.Get(r.write())(t)
			r = read(value)
			r.claim(c)
			granted := r.grant(c, was)
			waiting := 0
			for _, e := range r.Jobs {
				waiting += len(e.Wants)
				if slices.Contains(was, e.Job) && e.Job != job && !e.Called {
					t.Fatalf("%s was called, and has not asked since", e.Job)
				}
			}
			if held := len(r.holders()); held > limit || held < limit && waiting > 0 {
				t.Fatalf("%d have a slot, %d wait, the limit is %d", held, waiting, limit)
			}
			for job, c := range live {
				if e := r.find(job); len(c.Runs) > 0 && len(e.Held) < len(c.Runs) && len(e.Wants) == 0 && !e.Called {
					t.Fatalf("%s waits with %d runs, of which %d have a slot, and the job does not know", job, len(c.Runs), len(e.Held))
				}
			}
			if e := r.find(job); e != nil && len(granted.Held) != len(e.Held) {
				t.Fatalf("%s is told of %v, and has %v", job, granted.Held, e.Held)
			}
			if slices.Contains(granted.Called, job) {
				t.Fatalf("%s asks, and is called", job)
			}
		}
	})
}

// drain returns the order in which the jobs of a full record get slots: the holder of the slot ends its first run.
func drain(r *record, live map[string]*loop.Claim) (order []string) {
	for len(r.Jobs) > 0 {
		holder := slices.IndexFunc(r.Jobs, func(e *entry) bool { return len(e.Held) > 0 })
		job := r.Jobs[holder].Job
		order = append(order, job)
		live[job].Runs = live[job].Runs[1:]
		r.claim(live[job])
	}
	return order
}

func TestGroupsTakeTurnsAndAJobWithMuchDoesNotKeepOthersFromTheirs(t *testing.T) {
	r, live := &record{}, map[string]*loop.Claim{}
	for _, c := range []*loop.Claim{wants("a1", "a", 1, 3), wants("a2", "a", 1, 1), wants("a3", "a", 1, 1), wants("b1", "b", 1, 2)} {
		live[c.Job] = c
		r.claim(c)
	}
	want := []string{"a1", "a1", "b1", "a2", "b1", "a3", "a1"}
	if got := drain(r, live); !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}

func TestAHigherPriorityHasTheNextSlot(t *testing.T) {
	r, live := &record{}, map[string]*loop.Claim{}
	for i, job := range []string{"first", "low", "high"} {
		c := wants(job, "", 1, 1)
		c.Priority = i
		live[job] = c
		r.claim(c)
	}
	if got := drain(r, live); !slices.Equal(got, []string{"first", "high", "low"}) {
		t.Errorf("turns %v", got)
	}
}

// A job's limit counts when its own runs begin.
func TestNobodyOvertakesAJobThatWantsFewerBesideIt(t *testing.T) {
	r := &record{}
	for _, c := range []*loop.Claim{wants("a", "", 2, 1), wants("b", "", 1, 1), wants("c", "", 2, 1)} {
		r.claim(c)
	}
	if got := r.holders(); !slices.Equal(got, []string{"a/s0/1"}) {
		t.Errorf("%v have a slot", got)
	}
	r.claim(wants("a", "", 2, 0))
	if got := r.holders(); !slices.Equal(got, []string{"b/s0/1", "c/s0/1"}) {
		t.Errorf("%v have a slot", got)
	}
}

func TestWhatIsAtWorkHasASlotThoughTheRecordWasLost(t *testing.T) {
	r := &record{}
	lost := wants("a", "", 1, 2)
	lost.Runs[0].Begun = true
	r.claim(wants("b", "", 1, 1))
	r.claim(lost)
	if got := r.holders(); !slices.Equal(got, []string{"b/s0/1", "a/s0/1"}) {
		t.Errorf("%v have a slot", got)
	}
	r.claim(wants("b", "", 1, 0))
	if got := r.holders(); !slices.Equal(got, []string{"a/s0/1"}) {
		t.Errorf("%v have a slot", got)
	}
}

func TestARecordIsBounded(t *testing.T) {
	r := &record{}
	for i := range mostJobs + 1 {
		r.claim(wants(fmt.Sprintf("j%d", i), "", 1, 1))
	}
	if len(r.Jobs) != mostJobs {
		t.Errorf("%d jobs", len(r.Jobs))
	}
	late := wants("j1000", "", 1, 1)
	r.claim(wants("j5", "", 1, 0))
	if r.claim(late); r.find("j1000") == nil {
		t.Error("a job has no place although there is one")
	}
}

// Most ids are shorter; no record is larger than a message may be, or no slot could be released.
func TestARecordIsNeverTooLarge(t *testing.T) {
	for _, c := range []struct{ jobs, runs int }{{150, 60}, {50, 200}, {1, 8000}} {
		t.Run(fmt.Sprintf("%d jobs of %d runs", c.jobs, c.runs), func(t *testing.T) {
			r, live := &record{Turn: 1 << 40}, map[string]*loop.Claim{}
			for i := range c.jobs {
				job := wants(fmt.Sprintf("%0*d", events.MaxID, i), strings.Repeat("<", 1<<10)+strconv.Itoa(i), c.runs, c.runs)
				for i := range job.Runs {
					job.Runs[i].SubJob = fmt.Sprintf("%0*d", events.MaxID, i)
				}
				live[job.Job] = job
				r.claim(job)
			}
			fits(t, r)
			for turn := 0; len(r.Jobs) > 0; turn++ {
				e := r.Jobs[slices.IndexFunc(r.Jobs, func(e *entry) bool { return len(e.Held) > 0 })]
				job := live[e.Job]
				has := map[string]bool{}
				for _, name := range e.Held {
					has[name] = true
				}
				job.Runs = slices.DeleteFunc(job.Runs, func(run graph.Run) bool { return has[name(run)] })
				if r.claim(job); turn%50 == 0 {
					fits(t, r)
				}
				if len(job.Runs) == 0 {
					delete(live, job.Job)
				}
			}
			for job := range live { // Those without a place ask again by themselves.
				if r.claim(live[job]); len(r.holders()) == 0 {
					t.Fatalf("%s has no slot although all are free", job)
				}
				r.drop(job)
			}
		})
	}
}

func fits(t *testing.T, r *record) {
	t.Helper()
	if value, err := r.write(); err != nil || len(value) > bus.MaxMessage {
		t.Fatalf("a record of %d bytes, %v; at most %d fit", len(value), err, bus.MaxMessage)
	}
}

func TestWhatIsAtWorkHasASlotInAFullRecord(t *testing.T) {
	r := &record{}
	for i := 0; ; i++ {
		job := wants(fmt.Sprintf("%0*d", events.MaxID, i), strings.Repeat("<", mostGroup), 1, mostWants)
		if r.claim(job); r.find(job.Job) == nil {
			break
		}
	}
	lost := wants("lost", "", 1, 2)
	lost.Runs[0].Begun = true
	r.claim(lost)
	if e := r.find("lost"); e == nil || !slices.Equal(e.Held, []string{"s0/1"}) || len(e.Wants) > 0 {
		t.Errorf("entry %+v", e)
	}
	fits(t, r)
}
