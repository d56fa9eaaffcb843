package endtoend

import (
	"strconv"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// TestAJobThatIsTakenAlongAtAnyMomentComesToTheSameEnd cuts the export of a job after each of its events, and imports the
// rest into a separate bus: with the journals as of that moment, and with later ones, as if the job continued during the
// export.
func TestAJobThatIsTakenAlongAtAnyMomentComesToTheSameEnd(t *testing.T) {
	second := events.Duration(time.Second)
	for _, c := range []travel{
		{
			name: "diamond", on: events.KindInputRequested, say: func(s *system) {
				s.say("j", events.KindInputClosed, "q-b", &events.InputClosed{Action: events.Answered, Answer: []byte(`[7]`)})
			}, request: events.Request{
				Limits: events.Limits{RetryDelay: &second}, Plan: plan(step("a", "slow:"), step("b", "ask:", "a"), step("c", "fail:1", "a"), step("d", "slow:", "b", "c")),
			},
		},
		{
			name: "stop and recover", request: events.Request{Plan: plan(step("a", "slow:"))}, on: events.KindSubJobStarted,
			say: func(s *system) {
				s.say("j", events.KindStopRequested, "1", &events.StopRequested{})
				s.EndedAs("j", events.Stopped)
				s.say("j", events.KindRecoverRequested, "1", &events.RecoverRequested{})
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var whole *client.Export
			var want map[string]string
			virtual(t, func(s *system) {
				s.startAll()
				r := c.request
				r.ID, r.Goal = "j", c.name
				s.Submit(r)
				if c.say != nil {
					s.Await(s.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == c.on })
					c.say(s)
				}
				s.EndedAs("j", events.Finished)
				s.settled("j")
				want = s.outcome("j")
				x := musttest.Get(client.New(s.Bus).Archive().Export(s.Context(), "j", time.Now()))(s)
				whole = x
			})
			for n := 1; n <= len(whole.Records); n++ {
				for _, late := range []bool{false, true} {
					t.Run(strconv.Itoa(n)+" late "+strconv.FormatBool(late), func(t *testing.T) {
						virtual(t, func(s *system) {
							x := cut(whole, n, late)
							s.Patience = 10 * time.Minute
							s.startAll()
							for range 2 {
								musttest.Do(s, client.New(s.Bus).Archive().Import(s.Context(), x))
							}
							switch said := has(x, events.KindInputClosed); {
							case c.on == events.KindInputRequested && !said:
								s.Await(s.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == c.on })
								c.say(s)
							case has(x, events.KindStopRequested) && !has(x, events.KindRecoverRequested):
								s.EndedAs("j", events.Stopped)
								s.say("j", events.KindRecoverRequested, "1", &events.RecoverRequested{})
							}
							s.EndedAs("j", events.Finished)
							s.settled("j")
							musttest.Equal(s, want, s.outcome("j"))
							for subject := range s.calls {
								if s.calls[subject] > 1 {
									s.Errorf("%s was made %d times", subject, s.calls[subject])
								}
							}
						})
					})
				}
			}
		})
	}
}

// travel is a job that is exported and imported.
type travel struct {
	name    string
	request events.Request
	// on and say act once, when an event of a kind is in the log.
	on  events.Kind
	say func(s *system)
}

func has(x *client.Export, kind events.Kind) bool {
	for e, err := range x.Events() {
		if err == nil && e.Kind == kind {
			return true
		}
	}
	return false
}

// cut returns an export as it was after the nth event; with late its journals are from a later time.
func cut(x *client.Export, n int, late bool) *client.Export {
	part := *x
	part.Records, part.State = x.Records[:n], nil
	if late {
		return &part
	}
	part.Journals = nil
	for _, r := range x.Journals {
		if !r.Time.After(part.Records[n-1].Time) {
			part.Journals = append(part.Journals, r)
		}
	}
	return &part
}
