package endtoend

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// looker is the expert that reports the state of the system with one paid call of five seconds. paid counts its calls.
func (s *system) looker(paid *int) {
	card := events.Card{ID: "query_system_status", Name: "System status", Hidden: true}
	s.experts = append(s.experts, runner.Function{Card: card, Run: func(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
		said, err := t.Hand.Do(ctx, runner.Effect{Key: "look", Name: "call", Safe: true}, func(ctx context.Context) (json.RawMessage, error) {
			s.mu.Lock()
			*paid++
			s.mu.Unlock()
			select {
			case <-time.After(5 * time.Second):
				return json.RawMessage(`"the schema is empty"`), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		return events.SubJobReported{Output: said}, err
	}})
}

func onePlan() *voice {
	return &voice{says: `{"subjobs":[{"id":"a","goal":"echo","expert":"worker"}]}`}
}

// informed waits for the end of a job whose planner got what the looker found.
func (s *system) informed(v *voice, job string) {
	s.Helper()
	s.EndedAs(job, events.Finished)
	s.settled(job)
	if len(v.told) != 1 || !strings.Contains(v.told[0], "the schema is empty") {
		s.Errorf("told %q", v.told)
	}
}

// proves C12
// proves D5
func TestAPlannerThatDiesWhileSomebodyLooksAroundPaysNobodyTwice(t *testing.T) {
	if paid := paidAfterDeath(t, plannerName, runnerName); paid != 1 {
		t.Errorf("paid %d times", paid)
	}
}

func TestARunnerThatDiesWhileItLooksAroundIsReplaced(t *testing.T) {
	if paid := paidAfterDeath(t, runnerName, plannerName); paid != 2 {
		t.Errorf("paid %d times: the call under way may be repeated, and no other", paid)
	}
}

// paidAfterDeath is how often looking around was paid for when a service died meanwhile and was started again.
func paidAfterDeath(t *testing.T, dying, other string) (paid int) {
	virtual(t, func(s *system) {
		s.looker(&paid)
		v := onePlan()
		s.model = v
		s.start(schedulerName, nil)
		s.start(other, nil)
		dies := s.start(dying, nil)
		<-time.After(2 * time.Second) // Every card is announced.
		s.Submit(events.Request{ID: "j", Goal: "g", Profile: "graph"})
		s.Await(s.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindSubJobStarted })
		dies.Crash(dies.bus)
		s.start(dying, nil)
		s.informed(v, "j")
	})
	return paid
}

func TestNobodyLooksAroundForAJobThatWasStopped(t *testing.T) {
	virtual(t, func(s *system) {
		paid := 0
		s.looker(&paid)
		s.model = onePlan()
		s.start(schedulerName, nil)
		first := s.start(runnerName, nil) // Announces the cards.
		planner := s.start(plannerName, nil)
		<-time.After(2 * time.Second)
		first.Crash(first.bus)
		s.Submit(events.Request{ID: "j", Goal: "g", Profile: "graph"})
		s.Await(s.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindSubJobProgressed })
		<-time.After(2 * time.Second)
		planner.Crash(planner.bus)
		s.say("j", events.KindStopRequested, "1", &events.StopRequested{Reason: "enough"})
		s.EndedAs("j", events.Stopped)
		<-time.After(2 * time.Second) // A runner learns of the end from the saved state, which comes later.
		s.start(runnerName, nil)
		s.start(plannerName, nil)
		<-time.After(time.Minute)
		s.settled("j")
		if paid != 0 {
			t.Errorf("paid %d times", paid)
		}
	})
}
