package main_test

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// keyboard is a program on a pseudo-terminal of 80 columns and 24 rows.
type keyboard struct {
	tty  *os.File
	cmd  *exec.Cmd
	seen output
	over chan struct{} // Closed when all output has been read.
}

// atKeyboard starts a program on a pseudo-terminal.
func atKeyboard(t *testing.T, dir string, vars []string, words ...string) *keyboard {
	t.Helper()
	k := &keyboard{cmd: exec.CommandContext(t.Context(), words[0], words[1:]...), over: make(chan struct{})}
	k.cmd.Dir, k.cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "TERM=xterm", "JOBGRAPH_SANDBOX=best-effort"}, vars...)
	var err error
	if k.tty, err = pty.StartWithSize(k.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go func() { // Ends with the program, which holds the other side.
		defer close(k.over)
		_, _ = io.Copy(&k.seen, k.tty) // EIO marks the end.
	}()
	t.Cleanup(func() { _ = k.tty.Close() })
	return k
}

func (k *keyboard) until(t *testing.T, parts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	if err := k.seen.until(ctx, parts...); err != nil {
		t.Fatalf("%q is never shown: %s", parts, k.seen.String())
	}
}

func (k *keyboard) press(t *testing.T, keys string) {
	t.Helper()
	musttest.Get(io.WriteString(k.tty, keys))(t)
}

// end waits for the program and returns its exit code.
func (k *keyboard) end() int {
	_ = k.cmd.Wait() // The exit code says enough.
	<-k.over
	return k.cmd.ProcessState.ExitCode()
}

// Ctrl-C ends an embedded run at once. The command that it prints continues the job, and no finished call is made again.
func TestTheCommandThatAnInterruptedRunPrintsGoesOnWithTheJob(t *testing.T) {
	dir := t.TempDir()
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		switch {
		case q.Last("tool") == "":
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "edit", Args: `{"do":"create","path":"note.txt","new":"one"}`}}}, nil
		case q.N == 2:
			return llmtest.Answer{Text: "I have written half of", Fault: llmtest.Hang}, nil
		}
		return llmtest.Answer{Text: "<deliverable>The note says one.</deliverable>"}, nil
	}))
	served := httptest.NewServer(model)
	defer served.Close()
	card := "---\nname: Clerk\nkind: llm\ntools: [edit]\n---\nYou keep notes.\n"
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "clerk card.md"), []byte(card), 0o600))
	vars := []string{"OPENAI_BASE_URL=" + served.URL + "/v1", "OPENAI_MODEL=scripted"}
	k := atKeyboard(t, dir, vars, "jobgraph", "run", "--embedded", "--experts", "clerk card.md", "--expert", "Clerk", "Keep a note")
	k.until(t, "I have written half")
	k.press(t, "\x03")
	if code := k.end(); code != 130 {
		t.Fatalf("exit code %d: %s", code, k.seen.String())
	}
	command := regexp.MustCompile(`(?m)^  (jobgraph run --store .*--resume .*)\r$`).FindStringSubmatch(k.seen.String())
	if command == nil {
		t.Fatalf("nothing says how to go on: %s", k.seen.String())
	}
	k = atKeyboard(t, dir, vars, "sh", "-c", command[1])
	if code := k.end(); code != 0 || !strings.Contains(k.seen.String(), "The note says one.") {
		t.Fatalf("exit code %d: %s", code, k.seen.String())
	}
	first := 0
	for _, q := range model.Asked() {
		if q.Last("tool") == "" {
			first++
		}
	}
	if n := len(model.Asked()); n != 3 || first != 1 {
		t.Errorf("the model was asked %d times, %d of them for what it had answered; want the first, the one that was cut and its repetition", n, first)
	}
	if !strings.Contains(k.seen.String(), "goes on") {
		t.Errorf("the seam is not shown: %s", k.seen.String())
	}
}

// An embedded run ends soon after Ctrl-C although its command would run for ever, and no redrawn tree is left on the terminal.
func TestCtrlCEndsACommandThatRunsForEver(t *testing.T) {
	job, _ := holding(t)
	k := atKeyboard(t, t.TempDir(), nil, "jobgraph", "run", "--embedded", "--trust", "-f", job)
	k.until(t, "hold")
	musttest.Do(t, k.cmd.Process.Signal(syscall.SIGINT))
	if code := k.end(); code != 130 || !strings.Contains(k.seen.String(), "--resume") {
		t.Errorf("exit code %d: %s", code, k.seen.String())
	}
}
