package endtoend

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// While the server stores nothing, as on a full disk, every service says so, no job is admitted, and those that were admitted wait at
// whatever they were about to store. When the server stores again, they go on.
func TestAdmittedJobsWaitWhileTheServerStoresNothing(t *testing.T) {
	for _, long := range []time.Duration{20 * time.Second, 20 * time.Minute} {
		t.Run(long.String(), func(t *testing.T) {
			virtual(t, func(s *system) {
				s.model = &voice{says: `{"subjobs":[{"id":"a","goal":"echo","expert":"worker"}]}`}
				services := []*service{s.start(schedulerName, nil), s.start(plannerName, nil), s.start(runnerName, nil), s.start(runnerName, nil)}
				for _, one := range services {
					one.Await()
				}
				s.Submit(events.Request{ID: "runs", Plan: plan(step("a", "slow"), step("b", "echo", "a"))})
				s.Submit(events.Request{ID: "plans", Goal: "do something", Profile: "steps"})
				s.Until("a step is being worked on", func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					return s.runs["runs/a/1"] == 1
				})
				end := s.Server.Mute(s.Names.Log, s.Names.Intake, s.Names.Work, s.Names.Journal, "KV_"+s.Names.State, "KV_"+s.Names.Experts, "KV_"+s.Names.Sessions)
				<-time.After(long)
				if long > time.Minute {
					// Check what the services say of a server that stores nothing.
					for _, one := range services {
						if reasons := one.Health.Reasons(s.Context()); len(reasons) > 0 {
							s.Errorf("%s is not ready: %v", one.Name, reasons)
						}
						text := ""
						for _, note := range one.Health.Notes() {
							if note.Name == "bus" {
								text = note.Reason
							}
						}
						if !strings.HasPrefix(text, "the server has acknowledged nothing on ") || !strings.Contains(text, "restart it") {
							s.Errorf("%s says %q", one.Name, text)
						}
					}
					c := client.New(s.Bus)
					ask := func(id string) error {
						_, err := c.Ask(s.Context(), events.Request{ID: id, Plan: plan(step("a", "echo"))})
						return err
					}
					if err := ask("tried"); err == nil { // Now and then one is admitted, since only so can it be found out whether the server stores again.
						s.Error("a request that was not stored was accepted")
					}
					err := ask("refused")
					var f *events.Fault
					if !errors.Is(err, bus.ErrUnavailable) || !errors.As(err, &f) || f.Field != "disk" || !strings.Contains(f.Cause, "acknowledged nothing on jobs.event") {
						s.Errorf("a request is answered with %v", err)
					}
					if f, err := client.SupplyOf(c).Admission(s.Context()); err != nil || f == nil || f.Field != "disk" {
						s.Errorf("admission: %v, %v", f, err)
					}
					body, fault, err := s.Bus.Services().Request(s.Context(), s.Names.API("why"), []byte(`{"id":"runs"}`))
					if err != nil || fault != nil {
						s.Fatal(err, fault)
					}
					var why struct {
						Blockers []graph.Blocker `json:"blockers"`
					}
					musttest.Decode(s, body, &why)
					if len(why.Blockers) < 2 || why.Blockers[0].Code != "disk" || why.Blockers[0].Unblock != bus.MuteHint {
						s.Errorf("why: %+v", why.Blockers)
					}
				}
				end()
				s.EndedAs("runs", events.Finished)
				s.EndedAs("plans", events.Finished)
				s.Until("a job is admitted", func() bool {
					_, err := client.New(s.Bus).Ask(s.Context(), events.Request{ID: "after", Plan: plan(step("a", "echo"))})
					return err == nil
				})
				s.EndedAs("after", events.Finished)
				for what, times := range s.runs {
					if times != 1 {
						s.Errorf("%s was executed %d times", what, times)
					}
				}
				for _, one := range services { // A runner learns that the server stores again when it next announces its cards.
					s.Until(one.Name+" is well", func() bool { return len(one.Health.Reasons(s.Context()))+len(one.Health.Notes()) == 0 })
				}
			})
		})
	}
}
