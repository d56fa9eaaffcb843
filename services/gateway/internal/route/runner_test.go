package route_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

// runner starts a micro service that answers like a runner.
func (s *site) runner(runs verb.RunList, itself verb.RunnerLine, fault *events.Fault) (stop func()) {
	s.Helper()
	answer := func(of any) bus.Endpoint {
		return func(context.Context, []byte) ([]byte, *events.Fault) {
			body, err := json.Marshal(of)
			if err != nil {
				s.Error(err)
			}
			return body, fault
		}
	}
	stop = musttest.Get(s.bus.Services().ServeEach("jobgraph-runner", "", nil, map[string]bus.Endpoint{"runs": answer(runs), "runners": answer(verb.RunnerList{Runners: []verb.RunnerLine{itself}})}, nil))(s)
	musttest.Do(s, s.bus.Flush(s.Context()))
	return stop
}

func TestTheListsOfAllRunnersAreOne(t *testing.T) {
	s := open(t, nil, nil)
	get := func(path string, into any) {
		t.Helper()
		status, body := s.ask(verb.Viewer, http.MethodGet, path, "")
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
		musttest.Decode(t, []byte(body), into)
	}
	if status, body := s.ask(verb.Viewer, http.MethodGet, "/api/v1/runs", ""); status != http.StatusOK || body != `{"runs":[],"total":0}` {
		t.Errorf("without a runner: %d %s", status, body)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := func(runner, job string, since time.Duration) verb.HeldRun {
		return verb.HeldRun{Runner: runner, JobID: job, SubJob: "a", Run: 1, Attempt: 1, Expert: "x", Pool: "default", Since: at.Add(since), LeaseUntil: at.Add(since + time.Minute)}
	}
	defer s.runner(verb.RunList{Runs: []verb.HeldRun{run("r2", "j2", 1), run("r2", "j3", 3)}, Total: 7}, verb.RunnerLine{Runner: "r2", Pools: []string{"default"}}, nil)()
	defer s.runner(verb.RunList{Runs: []verb.HeldRun{run("r1", "j1", 2)}, Total: 1}, verb.RunnerLine{Runner: "r1"}, nil)()
	var runs verb.RunList
	get("/api/v1/runs?limit=2", &runs)
	musttest.Equal(t, verb.RunList{Runs: []verb.HeldRun{run("r2", "j2", 1), run("r1", "j1", 2), run("r2", "j3", 3)}, Total: 8}, runs)
	var runners verb.RunnerList
	get("/api/v1/runners", &runners)
	if len(runners.Runners) != 2 || runners.Runners[0].Runner != "r1" || runners.Runners[1].Runner != "r2" {
		t.Errorf("%+v", runners)
	}
	var health verb.HealthReport
	get("/api/v1/health", &health)
	if health.Services["runner"] != 2 || health.Services["planner"] != 0 {
		t.Errorf("%+v", health)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/runs?limit=x", ""), http.StatusBadRequest, events.CodeInvalid)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/runs?pool=x", ""), http.StatusBadRequest, events.CodeUnknownField)
}

// If a runner refuses, the whole list is refused: it would be incomplete.
func TestTheRefusalOfARunnerIsThatOfTheList(t *testing.T) {
	s := open(t, nil, nil)
	defer s.runner(verb.RunList{}, verb.RunnerLine{}, nil)()
	defer s.runner(verb.RunList{}, verb.RunnerLine{}, &events.Fault{Code: events.CodeTooLarge, Message: "the answer is too large", Hint: "ask for less"})()
	for _, path := range []string{"/api/v1/runs", "/api/v1/runners"} {
		status, body := s.ask(verb.Viewer, http.MethodGet, path, "")
		if status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "too_large") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A gateway on another machine than the bus learns from the scheduler that no job is admitted.
func TestHealthTellsWhyNoJobIsAdmitted(t *testing.T) {
	closed := &events.Fault{Code: events.CodeUnavailable, Message: "no job is admitted now", Cause: "the disk is full", Hint: "free room"}
	s := open(t, answers{"pools": func([]byte) ([]byte, *events.Fault) {
		return musttest.JSON(t, verb.PoolList{Pools: []verb.PoolLine{}, Admission: closed}), nil
	}}, func(o *route.Settings) {
		o.Notes = func() []host.Reason { return []host.Reason{{Name: "store", Reason: "3 MiB are free"}} }
	})
	_, body := s.ask(verb.Viewer, http.MethodGet, "/api/v1/health", "")
	var health verb.HealthReport
	musttest.Decode(t, []byte(body), &health)
	want := []verb.HealthReason{{Name: "store", Text: "3 MiB are free"}, {Name: "admission", Text: "no job is admitted now: the disk is full"}}
	if d := cmp.Diff(want, health.Notes); d != "" || !health.Ready {
		t.Errorf("ready %t: %s", health.Ready, d)
	}
}

// Health is asked for when something is wrong: without a bus it is an answer as well.
func TestHealthSaysThatTheBusIsAway(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	away := client.New(server.Connect("gateway"))
	server.Stop()
	s := open(t, nil, func(o *route.Settings) { o.Client = away })
	status, body := s.ask(verb.Viewer, http.MethodGet, "/api/v1/health", "")
	var health verb.HealthReport
	musttest.Decode(t, []byte(body), &health)
	if status != http.StatusOK || health.Ready || len(health.Services) > 0 || len(health.Reasons) != 1 || health.Reasons[0].Name != "bus" || !strings.HasPrefix(health.Reasons[0].Text, "it does not answer") {
		t.Errorf("%d %s", status, body)
	}
}

// A server that acknowledges nothing, for example since its disk is full, is no fault of the gateway.
func TestARequestThatTheBusDoesNotAcknowledgeIsUnavailable(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	o := server.Options("gateway")
	o.AckTimeout = 10 * time.Millisecond // What is mute stays so.
	b := musttest.Get(bus.Connect(t.Context(), o))(t)
	defer b.Close()
	server.Mute(server.Bus("test").Names().Intake)
	s := open(t, nil, func(o *route.Settings) { o.Client = client.New(b) })
	status, body := s.ask(verb.Submitter, http.MethodPost, "/api/v1/jobs", `{"id":"j","goal":"g"}`)
	var f events.Fault
	musttest.Decode(t, []byte(body), &f)
	if status != http.StatusServiceUnavailable || f.Code != events.CodeUnavailable || !strings.Contains(f.Hint, "whether it was done") {
		t.Errorf("%d %s", status, body)
	}
}
