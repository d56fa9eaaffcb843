//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// step is a SubJob of the expert.
func step(id, expert string, after ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "do " + id, Expert: expert, Dependencies: after}
}

// diamond is a graph of four.
func diamond() []events.SubJob {
	return []events.SubJob{step("a", "worker"), step("b", "worker", "a"), step("c", "worker", "a"), step("d", "worker", "b", "c")}
}

func request(job string, steps []events.SubJob) events.Request {
	plan, err := json.Marshal(events.Plan{SubJobs: steps})
	if err != nil {
		panic(err) // A plan of strings.
	}
	return events.Request{ID: job, Goal: "test " + job, Plan: plan}
}

// submit submits a job by the command line.
func (s *stack) submit(job string, steps ...events.SubJob) {
	s.t.Helper()
	text := musttest.Get(json.Marshal(request(job, steps)))(s.t)
	s.write(job+".json", string(text))
	s.cli("submit", "-f", filepath.Join(s.dir, job+".json"), "--timeout", "30s").wants(s.t, 0, job)
}

// many submits jobs over an open connection.
func (s *stack) many(prefix string, n int, steps []events.SubJob) []string {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	var jobs []string
	for i := range n {
		job := musttest.Get(s.bus.Submit(ctx, request(fmt.Sprintf("%s%d", prefix, i), steps)))(s.t)
		jobs = append(jobs, job)
	}
	return jobs
}

// finish waits for the successful ends of jobs, and checks that each log folds to the saved state and that no SubJob had
// two live processes.
func (s *stack) finish(jobs ...string) {
	s.t.Helper()
	s.ends(jobs...)
	for _, job := range jobs {
		s.replays(job)
	}
	for _, m := range s.marks() {
		if m.what == "overlap" {
			s.t.Errorf("%s/%s has two living processes in run %s", m.job, m.subjob, m.run)
		}
	}
}

// ends waits for the successful ends of jobs.
func (s *stack) ends(jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		if r := s.cli("watch", job, "--no-input", "--timeout", "60s"); r.code != 0 {
			s.t.Fatalf("job %s: exit code %d\n%s%s\n%s", job, r.code, r.out, r.err, s.cli("why", job).out)
		}
	}
}

// replays checks that a job's log folds to its saved state, waiting briefly for a state that is still being saved.
func (s *stack) replays(job string) {
	s.t.Helper()
	var last result
	for end := time.Now().Add(patience); ; {
		if last = s.cli("replay", job, "--diff"); last.code == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("replay %s --diff: exit code %d\n%s%s", job, last.code, last.out, last.err)
		}
	}
}

// mark is an action of an expert.
type mark struct{ what, job, subjob, run, pid, name string }

func (s *stack) marks() []mark {
	s.t.Helper()
	text := musttest.Get(os.ReadFile(filepath.Join(s.dir, "marks")))(s.t)
	var list []mark
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 6 && strings.HasSuffix(line, "\n") {
			list = append(list, mark{f[0], f[1], f[2], f[3], f[4], f[5]})
		}
	}
	return list
}

// count returns how often an action was taken for a SubJob; empty words match any.
func (s *stack) count(what, job, subjob string) int {
	n := 0
	for _, m := range s.marks() {
		if m.what == what && (job == "" || m.job == job) && (subjob == "" || m.subjob == subjob) {
			n++
		}
	}
	return n
}

// await waits until an action was taken n times.
func (s *stack) await(n int, what, job, subjob string) {
	s.t.Helper()
	until(s.t, fmt.Sprintf("%d times %s of %s/%s", n, what, job, subjob), patience, func() bool { return s.count(what, job, subjob) >= n })
}

// hold closes a gate for SubJobs, which then run until it is opened.
func (s *stack) hold(job string, subjobs ...string) {
	s.t.Helper()
	for _, id := range subjobs {
		musttest.Do(s.t, syscall.Mkfifo(s.gate(job, id), 0o600))
	}
}

func (s *stack) gate(job, subjob string) string { return filepath.Join(s.dir, "gates", job+"."+subjob) }

// open opens gates permanently.
func (s *stack) open(job string, subjobs ...string) {
	s.t.Helper()
	for _, id := range subjobs {
		g := musttest.Get(os.OpenFile(s.gate(job, id), os.O_RDWR, 0))(s.t)
		s.gates = append(s.gates, g)
		musttest.Get(g.WriteString(strings.Repeat("\n", 64)))(s.t)
	}
}

// living returns the processes that work for a job, according to their environment.
func living(job string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // The pattern is well-formed.
	var pids []string
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte("\x00JOBGRAPH_JOB="+job+"\x00")) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// page requests a page of a service and returns status and body; 0 means no answer.
func (s *stack) page(p *process, path string) (status int, body string) {
	s.t.Helper()
	r := musttest.Get(http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://127.0.0.1:"+s.ports[p]+path, nil))(s.t)
	answer, err := (&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }() // Only read from.
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(text)
}
