//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestABusThatIsAwayIsSaid(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.server.kill()
	for _, args := range [][]string{{"list"}, {"submit", "hello"}, {"get", "j"}, {"stop", "j"}, {"run", "-s", s.url, "hello"}} {
		s.cli(append(args, "--timeout", "20s")...).wants(t, 69, "the bus is away")
	}
	for _, p := range s.services {
		until(t, p.name+" says that it is not ready", patience, func() bool { return s.get(p, "/readyz") == http.StatusServiceUnavailable })
		if status := s.get(p, "/healthz"); status != http.StatusOK {
			t.Errorf("%s: /healthz %d", p.name, status)
		}
		if r := runProgram(t, p.program, p.env, []string{"healthcheck"}, ""); r.code == 0 || !strings.Contains(r.err, "not ready") {
			t.Errorf("%s healthcheck: exit code %d, %s", p.name, r.code, r.err)
		}
	}
	s.server.start()
	s.ready()
	s.submit("j", diamond()...)
	s.finish("j")
}

// The bus is killed and restarted while the services start, at different requests to it.
func TestServicesBeginWhileTheBusComesAndGoes(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := bare(t, "")
	s.card("worker", "", "work")
	services := []*process{s.add(scheduler), s.add(planner), s.add(runner)}
	for range 3 {
		for _, p := range services {
			until(t, p.name+" lives", patience, func() bool { return s.get(p, "/healthz") == http.StatusOK })
		}
		s.server.kill()
		s.server.start()
		for _, p := range services {
			until(t, p.name+" is ready", patience, func() bool { return s.get(p, "/readyz") == http.StatusOK || !p.alive() })
			if !p.alive() {
				t.Fatalf("%s has ended", p.name)
			}
			p.kill()
			p.start()
		}
	}
	s.ready()
	s.submit("j", diamond()...)
	s.finish("j")
}

func TestEveryServiceTellsHowItIs(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.submit("j", diamond()...)
	s.finish("j")
	for _, p := range s.services {
		for path, want := range map[string]string{
			"/healthz": "", "/readyz": "", "/metrics": "jobgraph_build_info", "/version": "version",
		} {
			if status, body := s.page(p, path); status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s%s: %d, want %q in %s", p.name, path, status, want, body)
			}
		}
		if _, body := s.page(p, "/metrics"); strings.Contains(body, `job="`) {
			t.Errorf("%s has a job as a label", p.name)
		}
		if r := runProgram(t, p.program, p.env, []string{"healthcheck"}, ""); r.code != 0 {
			t.Errorf("%s healthcheck: exit code %d, %s", p.name, r.code, r.err)
		}
		if r := runProgram(t, p.program, p.env, []string{"version"}, ""); r.code != 0 || r.out == "" {
			t.Errorf("%s version: exit code %d, %s", p.name, r.code, r.err)
		}
	}
	_, body := s.page(s.of(scheduler)[0], "/metrics")
	if !strings.Contains(body, `jobgraph_jobs_total{state="FINISHED"} 1`) && !strings.Contains(body, `jobgraph_jobs_total{state="finished"} 1`) {
		t.Errorf("the scheduler does not count the job:\n%s", body)
	}
}

func TestBadRequestsGetAnAnswer(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.write("broken.json", `{"goal": "x"`)
	s.write("unknown.json", `{"goal": "x", "colour": "red"}`)
	s.write("huge.json", `{"id": "huge", "goal": "`+strings.Repeat("x", 10<<20)+`"}`)
	s.write("big.json", `{"id": "big", "inputs": {"text": "`+strings.Repeat("x", 10<<20)+`"}, "goal": "g", "plan": {"subjobs": [{"id": "a", "goal": "g", "expert": "worker"}]}}`)
	s.write("cycle.json", `{"goal": "g", "plan": {"subjobs": [{"id": "a", "goal": "g", "expert": "worker", "dependencies": ["b"]}, {"id": "b", "goal": "g", "expert": "worker", "dependencies": ["a"]}]}}`)
	s.write("stranger.json", `{"goal": "g", "plan": {"subjobs": [{"id": "a", "goal": "g", "expert": "Stranger"}]}}`)
	for _, c := range []struct {
		command, file string
		code          int
		text          string
	}{
		{"submit", "broken", 2, "no valid JSON"},
		{"submit", "unknown", 2, "colour"},
		{"submit", "huge", 2, "goal: the request is too large"},
		{"run", "big", 0, "FINISHED"},
		{"run", "cycle", 1, "each depends on the next: a → b → a"},
		{"run", "stranger", 1, "no expert is called"},
	} {
		t.Run(c.file, func(t *testing.T) {
			s.cli(c.command, "-f", filepath.Join(s.dir, c.file+".json"), "--timeout", "60s", "--no-input").wants(t, c.code, c.text)
		})
	}
	s.cli("submit", "--id", "a.b", "hello").wants(t, 2, "id")
	s.cli("get", "nobody").wants(t, 5, "")
}

// Meaningless bytes on each of our subjects stop nothing.
func TestAnyBytesOnOurSubjectsStopNothing(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.hold("held", "b")
	s.submit("held", diamond()...)
	s.await(1, "begin", "held", "b")
	nc := musttest.Get(nats.Connect(s.url))(t)
	defer nc.Close()
	n := s.bus.Names()
	subjects := []string{
		n.Request(), n.API("submit"), n.API("stop"), n.API("no-such"), n.Control("ghost"), n.Cancel("held", "nobody"), n.Cancel("ghost", ""), n.Live("held", "b"),
		n.Event("ghost", events.KindJobRequested), n.Event("ghost", events.KindJobFinished), n.RunEvent("ghost", events.KindSubJobReported, "a", 1),
		n.RunEvent("held", events.KindSubJobReported, "nobody", 1), n.RunEvent("held", events.KindGraphCreated, "~plan", 99),
		n.Event("held", "weird"), n.Prefix() + ".event.x.y.z", n.Prefix() + ".event.0", n.Prefix() + ".work.default", n.Prefix() + ".rejected",
		n.WorkFor("default", "worker", "ghost", "a", 1), n.WorkFor("default", "nobody", "ghost", "b", 1), n.WorkFor("~planner", "~planner", "ghost", "~plan", 1),
		n.WorkFor("default", "worker", "held", "b", 7), n.JournalOf("ghost", "a"), n.Timer("ghost", "t"), n.Due("ghost", "t"),
	}
	bodies := []string{"", "\x00\xff\xfe", "null", "[]", `"x"`, "{}", `{"kind":17}`, `{"goal":7,"id":{}}`, strings.Repeat("{", 10_000), `{"run":-1,"subjob":"../..","job":"*"}`}
	for _, subject := range subjects {
		for i, body := range bodies {
			m := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
			if i%2 == 1 {
				m.Header.Set("ce-id", "x\x7f")
				m.Header.Set("ce-type", fmt.Sprintf("io.jobgraph.%d", i))
				m.Header.Set("Nats-Msg-Id", fmt.Sprintf("%s-%d", subject, i))
			}
			if err := nc.PublishMsg(m); err != nil {
				t.Fatalf("%s: %v", subject, err)
			}
		}
	}
	musttest.Do(t, nc.Flush())
	s.open("held", "b")
	s.finish("held")
	jobs := s.many("after", 3, diamond())
	s.finish(jobs...)
	for _, p := range s.services {
		if !p.alive() || s.get(p, "/readyz") != http.StatusOK {
			t.Errorf("%s does not run any more", p.name)
		}
	}
}

// A full disk rejects new jobs with a clear message; once there is room, everything accepted finishes.
func TestAFullDiskLosesNothingThatWasAccepted(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := bare(t, "max_file_store: 4MB")
	s.card("worker", "", "work")
	s.add(scheduler)
	s.add(planner)
	s.add(runner)
	s.ready()
	steps := diamond()
	for i := range steps {
		steps[i].Context = strings.Repeat("x", 10_000)
	}
	var accepted []string
	var refusal error
	ctx, cancel := s.context()
	defer cancel()
	for i := 0; refusal == nil && i < 200; i++ {
		job, err := s.bus.Submit(ctx, request(fmt.Sprintf("full%d", i), steps))
		if refusal = err; err == nil {
			accepted = append(accepted, job)
		}
	}
	if refusal == nil {
		t.Fatalf("%d jobs of 40 kB fit on a disk of 4 MB", len(accepted))
	}
	t.Logf("%d jobs were accepted; then: %v", len(accepted), refusal)
	s.write("more.json", `{"goal": "`+strings.Repeat("x", 200_000)+`", "expert": "worker"}`)
	var large []string
	until(t, "a large request is refused", patience, func() bool { // Finished work frees a little space.
		r := s.cli("submit", "-f", filepath.Join(s.dir, "more.json"), "--timeout", "20s", "-q")
		if r.code == 0 {
			large = append(large, strings.TrimSpace(r.out))
			return false
		}
		r.wants(t, 69, "no room for the request")
		return true
	})
	for _, p := range s.services {
		if !p.alive() {
			t.Errorf("%s has ended", p.name)
		}
	}
	s.server.kill()
	s.limit(s.url[strings.LastIndexByte(s.url, ':')+1:], "max_file_store: 1GB")
	s.server.start()
	s.ready()
	at := time.Now()
	s.finish(append(accepted, large...)...)
	t.Logf("all finished %s after there was room", time.Since(at).Round(time.Millisecond))
}
