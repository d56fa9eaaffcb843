package main_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The worker in Go that `new` writes passes its own tests, and works for a stack, built against this tree.
func TestANewWorkerInGoPassesItsTestsAndWorks(t *testing.T) {
	root := musttest.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	dir := filepath.Join(t.TempDir(), "counter")
	vars := map[string]string{"HOME": t.TempDir()}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	p := launch(env, nil, "new", dir, "--template", "worker-go", "--source", root)
	if code := <-p.code; code != 0 || !strings.Contains(p.stdout.String(), "\n  go test ./...\n") {
		t.Fatalf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-vet=off", "./..."}, {"build", "-o", "worker", "."}} {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=-trimpath") // The cache already has what the repository compiles to.
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, said)
		}
	}
	stop, where := startUp(t, env, nil)
	t.Cleanup(stop)
	vars["NATS_URL"] = where
	serve(t, where, filepath.Join(dir, "worker"), "--pools", "words-go", "--http-addr", "off")
	p = launch(env, nil, "run", "--expert", "Word Counter", "-q", "to be or not to be")
	if code := <-p.code; code != 0 || !strings.Contains(p.stdout.String(), "\"words\": 6,\n  \"most\": \"to\"") {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
}

// serve runs a worker until the test ends, and returns when it has announced its experts.
func serve(t *testing.T, where string, argv ...string) {
	t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = []string{"NATS_URL=" + where, "HOME=" + t.TempDir()}
	out, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	var said bytes.Buffer
	for lines := bufio.NewScanner(io.TeeReader(out, &said)); ; {
		if !lines.Scan() {
			t.Fatalf("the worker announced nothing: %s", said.String())
		}
		if strings.Contains(lines.Text(), "experts announced") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // Later output is not needed. Ends with the worker.
}

// If the program was called by a path, `new` says how the next commands find it, since they run in another folder.
func TestANewProjectSaysHowItsProgramIsFound(t *testing.T) {
	for name, want := range map[string]string{"jobgraph": "next\n  cd ", "bin/jobgraph": "next\n  export PATH=\"$PATH:" + filepath.Join(must(os.Getwd()), "bin") + "\"\n  cd "} {
		var out bytes.Buffer
		home := t.TempDir()
		env := func(name string) (string, bool) { return home, name == "HOME" }
		code := cli.Main(cli.System{
			System: host.System{Args: []string{"new", filepath.Join(t.TempDir(), "a")}, Env: env, Stdout: &out, Stderr: io.Discard, Signals: make(chan os.Signal)},
			Name:   name, Stdin: strings.NewReader(""), Now: time.Now, Sandbox: helper,
		})
		if code != cli.ExitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit code %d: %s", name, code, out.String())
		}
	}
}

// A folder is trusted by every path that leads to it.
func TestAFolderBehindALinkIsTheSameFolder(t *testing.T) {
	card, trace := tracing(t)
	v := visit(t, map[string]string{"experts/clerk.md": card})
	if code, shown := v.types([][2]string{{"Do you trust them?", "yes"}}, runClerk...); code != cli.ExitOK || !ran(trace) {
		t.Fatalf("exit code %d: %s", code, shown)
	}
	link := filepath.Join(t.TempDir(), "link")
	musttest.Do(t, os.Symlink(must(os.Getwd()), link))
	t.Chdir(link)
	if code, shown := v.types(nil, runClerk...); code != cli.ExitOK || !strings.Contains(shown, "as trusted") {
		t.Errorf("exit code %d: %s", code, shown)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}
