package main_test

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// typist is a person at a terminal: they type the next line when they see its prompt.
type typist struct {
	keys  *io.PipeWriter
	lines [][2]string // A prompt, and what is typed then; "" ends the input.

	mu   sync.Mutex // Guards the fields below.
	seen bytes.Buffer
	read int
}

// Write shows output to the person.
func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Write(b)
	for len(p.lines) > 0 {
		at := strings.Index(p.seen.String()[p.read:], p.lines[0][0])
		if at < 0 {
			break
		}
		p.read += at + len(p.lines[0][0])
		line := p.lines[0][1]
		p.lines = p.lines[1:]
		go p.typing(line) // The reader may not be waiting yet. The goroutine ends when the line is read or the program has closed its input.
	}
	return len(b), nil
}

func (p *typist) typing(line string) {
	if line == "" {
		_ = p.keys.Close()
		return
	}
	_, _ = io.WriteString(p.keys, line+"\n") // The program may have ended.
}

func (p *typist) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// atTerminal runs the program with a person who types.
func atTerminal(t *testing.T, model *llmtest.Server, lines [][2]string, args ...string) (code int, shown, stderr string) {
	t.Helper()
	served := httptest.NewServer(model)
	defer served.Close()
	vars := map[string]string{"HOME": t.TempDir(), "USER": "ann", "OPENAI_BASE_URL": served.URL + "/v1", "OPENAI_MODEL": "scripted", "JOBGRAPH_SANDBOX": "best-effort"}
	in, keys := io.Pipe()
	p := &typist{keys: keys, lines: lines}
	var errs bytes.Buffer
	code = cli.Main(cli.System{
		System: host.System{Args: args, Env: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Stdout: p, Stderr: &errs, Signals: make(chan os.Signal)},
		Stdin:  in, Typing: true, Now: time.Now, Sandbox: helper,
	})
	_ = in.Close()
	return code, p.text(), errs.String()
}

// clerk asks a person, writes a note, and changes it if a person approves.
func clerk() *llmtest.Server {
	calls := []llmtest.Call{
		{Name: "ask_person", Args: `{"question":"Which colour?","options":["red","blue"]}`},
		{Name: "edit", Args: `{"do":"create","path":"note.txt","new":"one\ntwo\n"}`},
		{Name: "edit", Args: `{"do":"replace","path":"note.txt","old":"two","new":"three"}`},
	}
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		n := 0
		for _, turn := range q.Turns {
			if turn.Role == "tool" {
				n++
			}
		}
		if n < len(calls) {
			return llmtest.Answer{Calls: calls[n : n+1]}, nil
		}
		return llmtest.Answer{Text: "<deliverable>" + q.Last("tool") + "</deliverable>"}, nil
	}))
}

func clerkCard(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clerk.md")
	card := "---\nname: Clerk\nkind: llm\ntools: [ask_person, edit]\n" +
		"policies: [{tool: edit, args: {do: replace}, action: ask, reason: Changes are looked at.}]\n---\nYou keep notes.\n"
	musttest.Do(t, os.WriteFile(path, []byte(card), 0o600))
	return path
}

func TestAPersonAtTheTerminalAnswersWhereTheyType(t *testing.T) {
	lines := [][2]string{{"answer> ", "green"}, {"answer> ", "2"}, {"yes, or why not> ", "yes"}}
	code, shown, stderr := atTerminal(t, clerk(), lines, "run", "--embedded", "--experts", clerkCard(t), "--expert", "Clerk", "Keep a note")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s%s", code, shown, stderr)
	}
	for _, want := range []string{"Which colour?", "  1) red\n  2) blue\n", "  note.txt\n  - two\n  + three\n", "job FINISHED"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	if !strings.Contains(stderr, `"green" is not one of the choices: red, blue`) {
		t.Errorf("the wrong answer was not told: %s", stderr)
	}
}

func TestAPersonWhoLeavesFindsTheJobWaiting(t *testing.T) {
	code, shown, stderr := atTerminal(t, clerk(), [][2]string{{"answer> ", ""}}, "run", "--store", t.TempDir(), "--experts", clerkCard(t), "--expert", "Clerk", "Keep a note")
	if code != cli.ExitWaiting || !strings.Contains(stderr, "is kept as it stands; go on with it by\n  jobgraph run --store ") {
		t.Errorf("exit code %d: %s%s", code, shown, stderr)
	}
}

// A form is asked for field by field. Questions of a job for a person who uses no terminal are not asked there.
func TestAFormIsFilledInFieldByField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boss.md")
	card := "---\nname: Boss\nkind: human\noutput_schema: {type: object, required: [amount], properties: {amount: {type: integer, minimum: 1}, note: {type: string}, now: {type: boolean, default: false}}}\n---\nHow much?\n"
	musttest.Do(t, os.WriteFile(path, []byte(card), 0o600))
	lines := [][2]string{
		{"amount (integer)> ", "0"},
		{"note (may be empty)> ", "x"},
		{"now (boolean; default false)> ", "yes"},
		{"amount (integer)> ", "7"},
		{"note (may be empty)> ", "fine"},
		{"now (boolean; default false)> ", "好的"},
	}
	code, shown, stderr := atTerminal(t, clerk(), lines, "run", "--embedded", "--experts", path, "--expert", "Boss", "Spend")
	if code != cli.ExitOK || !strings.Contains(strings.Join(strings.Fields(shown), ""), `"amount":7,"note":"fine","now":true`) {
		t.Errorf("exit code %d: %s%s", code, shown, stderr)
	}
	if !strings.Contains(stderr, "does not fit the schema") {
		t.Errorf("the wrong answer was not told: %s", stderr)
	}
}

func TestAChatIsASessionWithCommands(t *testing.T) {
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if strings.Contains(q.All(), "my name is Ann") && strings.Contains(q.All(), "What is my name?") {
			return llmtest.Answer{Text: "<deliverable>Your name is Ann.</deliverable>"}, nil
		}
		return llmtest.Answer{Text: "<deliverable>Pleased to meet you.</deliverable>"}, nil
	}))
	path := filepath.Join(t.TempDir(), "host.md")
	musttest.Do(t, os.WriteFile(path, []byte("---\nname: Host\nkind: llm\n---\nYou greet people.\n"), 0o600))
	lines := [][2]string{
		{"you> ", "Hello, my name is Ann"}, {"you> ", "What is my name?"}, {"you> ", "/nonsense"}, {"you> ", "/budget"}, {"you> ", "/quit"},
	}
	code, shown, stderr := atTerminal(t, model, lines, "chat", "--embedded", "--experts", path, "--expert", "Host")
	if code != cli.ExitOK || !strings.Contains(shown, "Pleased to meet you.") || !strings.Contains(shown, "Your name is Ann.") || !strings.Contains(shown, " tokens") {
		t.Errorf("exit code %d: %s%s", code, shown, stderr)
	}
	if !strings.Contains(stderr, "there is no command /nonsense") {
		t.Errorf("a wrong command was not told: %s", stderr)
	}
}

// A chat that continues a session begins with what was said in it, and knows its jobs.
func TestAChatGoesOnWithItsSession(t *testing.T) {
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "<deliverable>Pleased to meet you.</deliverable>"}, nil
	}))
	path := filepath.Join(t.TempDir(), "host.md")
	musttest.Do(t, os.WriteFile(path, []byte("---\nname: Host\nkind: llm\n---\nYou greet people.\n"), 0o600))
	store := t.TempDir()
	args := []string{"chat", "--store", store, "--session", "peru", "--experts", path, "--expert", "Host"}
	code, shown, stderr := atTerminal(t, model, [][2]string{{"you> ", "Hello there"}, {"you> ", "/quit"}}, args...)
	if code != cli.ExitOK || strings.Contains(shown, "you: Hello there") || !strings.Contains(stderr, "chat --store "+store+" --session peru` goes on with it") {
		t.Errorf("exit code %d: %s%s", code, shown, stderr)
	}
	code, shown, stderr = atTerminal(t, model, [][2]string{{"you> ", "/jobs"}, {"you> ", "/why"}, {"you> ", "/quit"}}, args...)
	if code != cli.ExitOK || !strings.Contains(shown, "you: Hello there") || !strings.Contains(shown, "Pleased to meet you.") || !strings.Contains(shown, "FINISHED") {
		t.Errorf("exit code %d: %s%s", code, shown, stderr)
	}
}

func TestAChatWithoutATerminalSaysWhatToUse(t *testing.T) {
	o := fromOutside(t, clerk(), "chat", "--embedded")
	if o.code != cli.ExitUsage || !strings.Contains(o.stderr, "jobgraph run --session ID") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}
