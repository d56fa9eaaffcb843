package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Commands that need no bus or start one, and examples that read a file instead of a job.
const local = " up demo new bench model trust tools version completion config import-config import experts-check experts-copy plan-check plan-diff plan-draft plan-template "

// Every command that cannot reach the bus prints the address, where it was set, and advice.
func TestEachCommandNamesTheAddressThatDoesNotAnswer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"job.yaml", "worker.md", "edit.yaml", "answer.json", "terms.md", "prices.csv"} {
		musttest.Write(t, filepath.Join(dir, name), "goal: g\n")
	}
	card := "---\nname: Worker\nkind: nats\npool: workers\n---\n"
	musttest.Write(t, filepath.Join(dir, "worker.md"), card)
	t.Chdir(dir)
	lines := []string{"jobgraph fork last", "jobgraph diff 01a20b57 last"}
	for path, text := range examples() {
		first, _, _ := strings.Cut(path, " ")
		if path == "" || strings.Contains(local, " "+first+" ") || strings.Contains(local, " "+strings.ReplaceAll(path, " ", "-")+" ") {
			continue
		}
		line, _, _ := strings.Cut(text, "\n")
		line = strings.Replace(line, "--plan plan.yaml", "--expert Reviewer Review", 1)
		lines = append(lines, line)
	}
	if len(lines) < 40 {
		t.Errorf("only %d commands are tried", len(lines))
	}
	var running sync.WaitGroup
	for _, line := range lines {
		running.Go(func() { // Each tries for a second, so they run concurrently.
			code, said := complaint(t, split(line)[1:])
			if code != ExitUnavailable || !strings.Contains(said, "no server answers at nats://127.0.0.1:1 (NATS_URL)") ||
				!strings.Contains(said, "\n  → start one there with `jobgraph up --nats HOST:PORT`, or correct or unset NATS_URL") {
				t.Errorf("%s: exit %d: %s", line, code, said)
			}
		})
	}
	running.Wait()
}

// A fault in an address names the flag of this program that sets it.
func TestAFaultOfAnAddressIsThatOfItsFlag(t *testing.T) {
	for args, want := range map[string]string{
		"-s foo:x:y list":            `jobgraph: --server: value "foo:x:y" is not good`,
		"--creds /nowhere/c list":    "jobgraph: --creds: the file cannot be opened",
		"--context /nowhere/c list":  "jobgraph: --context: ",
		"-s nats://127.0.0.1:2 list": "no server answers at nats://127.0.0.1:2 (--server)",
	} {
		if _, said := complaint(t, strings.Fields(args)); !strings.Contains(said, want) {
			t.Errorf("%s: %s", args, said)
		}
	}
}

// complaint runs the program without a bus and returns its exit code and standard error.
func complaint(t *testing.T, args []string) (code int, said string) {
	t.Helper()
	var out, stderr strings.Builder
	env := map[string]string{"NATS_URL": "nats://127.0.0.1:1", "HOME": "/nowhere"}
	code = Main(System{
		System: host.System{
			Args: args, Stdout: &out, Stderr: &stderr, Signals: make(chan os.Signal),
			Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		},
		Stdin: strings.NewReader(""), Now: time.Now, Typing: true,
	})
	return code, stderr.String()
}

// A server that has taken the connection is there: a busy machine is waited for.
func TestACommandWaitsForAServerThatIsSlow(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Bus("test")
	l := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var all sync.WaitGroup
	defer all.Wait()
	defer func() { _ = l.Close() }()
	all.Go(func() { // Ends with the listener.
		silent, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = silent.Close() }() // The first connection gets no answer.
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "nats://"))
			if err != nil {
				t.Error(err)
				return
			}
			all.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() }) // Both end when either side closes.
			all.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		}
	})
	code, said := complaint(t, []string{"-s", "nats://" + l.Addr().String(), "dlq", "ls"})
	if code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
}

// A server that stands still is not one that is missing: nothing has to be started there.
func TestAServerThatSaysNothingIsNotMissing(t *testing.T) {
	silent := fmt.Errorf("%w: %w", bus.ErrUnavailable, bus.ErrSlow)
	if f := (&app{}).unanswered("nats://h:1", silent); !strings.Contains(f.Message, "nats://h:1 takes the connection and says nothing") || !strings.Contains(f.Hint, "stands still") || strings.Contains(f.Hint, "start one") {
		t.Errorf("%+v", f)
	}
}
