//go:build browser

package browser

import (
	"context"
	"net/http"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A job in quarantine is listed with the reason and what to do. It leaves the list when it is tried again after the cause was
// repaired, or deleted.
func TestJobsInQuarantine(t *testing.T) {
	s := begin(t, trip())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := musttest.Get(client.Connect(ctx, bus.Options{URL: "nats://" + s.nats}))(t)
	defer c.Close()
	s.submit("well", one("menu", "Clerk", "Choose the menu"), nil)
	restore := map[string]func(){}
	for _, id := range []string{"mend", "drop"} {
		s.submit(id, one("pack", "Clerk", "Pack for "+id), nil)
		restore[id] = losePlan(ctx, s, c, id)
	}
	v := look(s, desktop, "/letters")
	for _, id := range []string{"mend", "drop"} {
		card := "[data-letter=" + id + "]"
		v.read(card, "job in quarantine")
		v.read(card+" .fault", "a payload that the log names is gone")
		v.read(card+" .hint", "restore the object store, or `jobgraph import` an export of the job, then `jobgraph dlq retry "+id+"`")
	}
	v.gone("[data-letter=well]")
	v.click("[data-letter=mend] button.title", "mend")
	v.read("[data-letter=mend] .copyable", "jobgraph dlq retry mend")
	v.read("[data-letter=mend] .copyable", "jobgraph delete mend --force")
	picture(v, "quarantine")

	// Trying again fails while the cause remains. Once it is repaired, the job continues, and so does the edit of its plan.
	since := func() string {
		var list struct{ Letters []struct{ ID, Since string } }
		s.api(http.MethodGet, "/dlq", nil, &list)
		for _, l := range list.Letters {
			if l.ID == "mend" {
				return l.Since
			}
		}
		return ""
	}
	first := since()
	v.click("[data-letter=mend] button", "Try again")
	v.read(".toast", "mend is tried again")
	s.until("mend is set aside again", func() bool { again := since(); return again != "" && again != first })
	v.read("[data-letter=mend] .fault", "is gone")
	restore["mend"]()
	v.click("[data-letter=mend] button", "Try again")
	v.gone("[data-letter=mend]")
	v.see("[data-letter=drop]")
	s.open("pack", "more", "menu")
	s.finished("mend")
	v.visit("/jobs/mend")
	v.step("more", "finished")
	v.visit("/letters")

	// Deleting asks for confirmation.
	v.click("[data-letter=drop] button", "Delete")
	v.click("[data-letter=drop] button", "Delete for good")
	v.read("main", "Nothing was set aside")
	v.visit("/jobs/drop")
	v.read(".fault", "there is no job")
	s.finished("well")
}

// losePlan edits the plan of a job while the payload of its new plan is lost; restore brings that back.
func losePlan(ctx context.Context, s *stack, c *client.Client, id string) (restore func()) {
	s.Helper()
	s.until(id+" runs", func() bool {
		var job struct{ Status string }
		s.api(http.MethodGet, "/jobs/"+id, nil, &job)
		return job.Status == "RUNNING"
	})
	plan := []byte(`{"title":"More","subjobs":[{"id":"pack","goal":"Pack for ` + id + `","title":"Pack for ` + id + `","expert":"clerk"},{"id":"more","goal":"More","title":"More","expert":"clerk","dependencies":["pack"]}]}`)
	put := func() events.Ref {
		return musttest.Get(c.Bus().Blobs().Put(ctx, id, plan))(s)
	}
	ref := put()
	musttest.Do(s, c.Bus().Blobs().Delete(ctx, id))
	m := musttest.Get(events.Encode(c.Bus().Names(), events.Event{Kind: events.KindPlanEdited, ID: id + "/edit", Job: id, Source: "test", Data: &events.PlanEdited{PlanVersion: 1, PlanRef: &ref}}))(s)
	musttest.Get(c.Bus().Publish(ctx, m, bus.Expect{}))(s)
	return func() { put() }
}
