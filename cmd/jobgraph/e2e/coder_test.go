//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/demo"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The example of the built-in coder.
const coderExample = "../../../examples/bugfix"

// witness is a scripted model that counts the answers at each point of a conversation, and holds the first question at some.
type witness struct {
	model http.Handler
	held  chan int // Receives the point of each question that is held back.

	mu       sync.Mutex // Guards the fields below.
	hold     map[int]bool
	answered map[int]int
}

// watchModel serves the script in a file. A point is the number of tool results in the question.
func watchModel(t *testing.T, file string, hold ...int) (w *witness, url string) {
	t.Helper()
	script := musttest.Get(llmtest.LoadScript(file))(t)
	w = &witness{model: llmtest.New(script), held: make(chan int, len(hold)), hold: map[int]bool{}, answered: map[int]int{}}
	for _, point := range hold {
		w.hold[point] = true
	}
	served := httptest.NewServer(w)
	t.Cleanup(served.Close)
	return w, served.URL + "/v1"
}

// ServeHTTP implements http.Handler.
func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The caller is gone.
	}
	point := bytes.Count(body, []byte(`"role":"tool"`))
	w.mu.Lock()
	hold := w.hold[point]
	delete(w.hold, point)
	if !hold {
		w.answered[point]++
	}
	w.mu.Unlock()
	if hold {
		w.held <- point
		<-r.Context().Done()
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.model.ServeHTTP(out, r)
}

// The runner of the built-in coder is killed with -9 while the model thinks, before it takes a change back, and while the tests of
// the repository run. The bug is fixed, the tests pass, the model answers each question once, and no finished call is made again.
func TestTheCoderFixesTheBugThroughKills(t *testing.T) {
	t.Parallel() // It mostly waits.
	for _, level := range []string{"namespaces", "landlock", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			w, url := watchModel(t, filepath.Join(coderExample, "model.yaml"), 2, 5)
			s := bare(t, "")
			s.more = []string{"OPENAI_BASE_URL=" + url, "OPENAI_MODEL=scripted"}
			s.add(scheduler)
			s.add(planner)
			r := s.add(runner, "--experts", "builtin", "--sandbox", level)
			s.ready()
			s.boxed(level)
			s.cli("submit", "-f", filepath.Join(coderExample, "job.yaml"), "--attach", marking(t), "--id", "fix").wants(t, 0, "fix")
			var kills [][]demo.Call
			kill := func() {
				r.kill()
				kills = append(kills, s.calls("fix"))
				r.start()
			}
			for range 2 {
				<-w.held
				kill()
			}
			until(t, "the tests run for the third time", patience, func() bool { return s.begun("fix", "run") == 3 })
			kill()
			s.finish("fix")
			inFlight := unrepeated(t, kills, s.calls("fix"))
			w.once(t, 10)
			// Run the tests of the repository that the coder has returned, and count the earlier runs.
			dir := s.t.TempDir()
			names := []string{"balance.sh", "balance.awk", "cents.awk", "test.sh"}
			for _, name := range names {
				s.cli("artifacts", "get", "fix", "main/ledger/"+name, "-f", filepath.Join(dir, name)).wants(s.t, 0, "")
			}
			musttest.Do(s.t, os.Mkdir(filepath.Join(filepath.Dir(dir), "out"), 0o700))
			out, err := exec.CommandContext(s.t.Context(), "sh", filepath.Join(dir, "test.sh")).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "6 cases, 0 failed") {
				s.t.Errorf("the tests do not pass: %v\n%s", err, out)
			}
			s.cli("artifacts", "get", "fix", "main/fix.patch", "-f", "-").wants(s.t, 0, "+\treturn (negative ? -1 : 1)")
			marks := s.cli("artifacts", "get", "fix", "main/marks", "-f", "-")
			if want := strings.Repeat("tested\n", 3); marks.out != want {
				s.t.Errorf("the tests left the marks %q, want %q", marks.out, want)
			}
			t.Logf("%d kills, %d calls in flight", len(kills), inFlight)
		})
	}
}

// boxed fails the test on a machine that does not offer a sandbox level.
func (s *stack) boxed(level string) {
	s.t.Helper()
	var card events.Card
	r := s.cli("experts", "describe", "coder", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &card); err != nil {
		s.t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	for _, tag := range card.Tags {
		if why, is := strings.CutPrefix(tag, events.SandboxTag); is {
			if !strings.HasPrefix(why, level) {
				s.t.Fatalf("%s cannot be tested here: %s", level, why)
			}
			return
		}
	}
	s.t.Fatalf("the card does not name its sandbox: %v", card.Tags)
}

// marking copies the repository of the example, whose tests leave a mark each time they run.
func marking(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	musttest.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join(coderExample, "ledger"))))
	path := filepath.Join(dir, "test.sh")
	text := musttest.Get(os.ReadFile(path))(t)
	before, after, ok := strings.Cut(string(text), "failed=0\n")
	if !ok {
		t.Fatal("test.sh has no line failed=0")
	}
	musttest.Do(t, os.WriteFile(path, []byte(before+"echo tested >>../out/marks\nfailed=0\n"+after), 0o600))
	return dir
}

// calls returns the calls of a one-step job, according to its journal.
func (s *stack) calls(job string) []demo.Call {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	return musttest.Get(demo.Read(ctx, s.bus.Bus(), job, []events.SubJob{{ID: "main"}}))(s.t)
}

// begun counts how many calls of a tool were begun.
func (s *stack) begun(job, tool string) (n int) {
	for _, c := range s.calls(job) {
		if c.Name == "tool "+tool {
			n++
		}
	}
	return n
}

// unrepeated checks that no call that was finished at a kill was made again, and counts those that were in flight.
func unrepeated(t *testing.T, kills [][]demo.Call, after []demo.Call) (inFlight int) {
	t.Helper()
	finished := 0
	for i, before := range kills {
		for _, was := range before {
			if was.Results == 0 {
				inFlight++
				continue
			}
			finished++
			at := slices.IndexFunc(after, func(c demo.Call) bool { return c.Key == was.Key })
			if at < 0 || after[at].Intents != was.Intents || after[at].Results != 1 {
				t.Errorf("%s was finished at kill %d and made again", was.String(), i+1)
			}
		}
	}
	if finished == 0 {
		t.Error("nothing was finished at any kill")
	}
	return inFlight
}

// once checks that the model answered each question of a conversation once.
func (w *witness) once(t *testing.T, points int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.answered) != points {
		t.Errorf("answers at the points %v, want %d points", slices.Sorted(maps.Keys(w.answered)), points)
	}
	for point, n := range w.answered {
		if n != 1 {
			t.Errorf("%d answers with %d results", n, point)
		}
	}
}
