package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/screentest"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// halves is the last text of the model, in two pieces: it sends the second one once the first is on the screen.
var halves = [2]string{"The note has two lines now. ", "The second one was changed from two to blue, as you wished."}

// A session at a terminal of 80 columns: streamed text, a question, an approval with a diff, the result and its cost. The page
// shows this recording; `go test ./cmd/jobgraph -run Recording -update` updates it.
func TestThePageShowsTheRecordingOfATerminal(t *testing.T) {
	second := make(chan struct{})
	cost := 0.0004
	used := &llmtest.Usage{Prompt: 300, Completion: 40, CostUSD: &cost}
	answers := []llmtest.Answer{
		{Text: "I ask for the colour first.", Calls: []llmtest.Call{{Name: "ask_person", Args: `{"question":"Which colour?","options":["red","blue"]}`}}},
		{Calls: []llmtest.Call{{Name: "edit", Args: `{"do":"create","path":"out/note.txt","new":"one\ntwo\n"}`}}},
		{Calls: []llmtest.Call{{Name: "edit", Args: `{"do":"replace","path":"out/note.txt","old":"two","new":"blue"}`}}},
	}
	for n := range answers {
		answers[n].Usage = used
	}
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) { return answers[q.N-1], nil }))
	asked := 0
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // An agent asks its questions one at a time.
		if asked++; asked <= len(answers) {
			model.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for n, half := range halves {
			if n == 1 {
				<-second
			}
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", half) // If the write fails, the test notices the missing text.
			w.(http.Flusher).Flush()
		}
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":350,\"completion_tokens\":30,\"total_tokens\":380,\"cost\":0.0004}}\n\ndata: [DONE]\n\n")
	}))
	defer served.Close()
	dir := t.TempDir()
	card := "---\nname: Clerk\nkind: llm\ntools: [ask_person, edit]\nartifacts: [out/**]\n" +
		"policies: [{tool: edit, args: {do: replace}, action: ask, reason: Changes are looked at.}]\n---\nYou keep notes.\n"
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "clerk.md"), []byte(card), 0o600))
	vars := []string{"OPENAI_BASE_URL=" + served.URL + "/v1", "OPENAI_MODEL=scripted", "NO_COLOR=1", "USER=ann"}
	k := atKeyboard(t, dir, vars, "jobgraph", "run", "--embedded", "--experts", "clerk.md", "--expert", "Clerk", "--artifacts", "kept", "Keep a note")
	k.until(t, "answer> ")
	k.press(t, "2\n")
	k.until(t, "yes, or why not> ")
	k.press(t, "yes\n")
	const complete = "\x1b[J"                                     // The end of a picture.
	k.until(t, strings.TrimSpace(halves[0]), "RUNNING", complete) // The tree may still show the question for a moment.
	meanwhile := k.seen.String()
	meanwhile = meanwhile[:strings.LastIndex(meanwhile, complete)]
	close(second)
	if code := k.end(); code != 0 {
		t.Fatalf("exit code %d: %s", code, k.seen.String())
	}
	for name, output := range map[string]string{"meanwhile": meanwhile, "session": k.seen.String()} { // any order: each is a separate part.
		rows, faults := screentest.Replay(80, 24, output)
		if len(faults) > 0 {
			t.Errorf("%s: on the terminal:\n%s", name, strings.Join(faults, "\n"))
		}
		if name == "meanwhile" {
			rows = rows[max(0, len(rows)-4):]
		}
		recorded(t, filepath.Join("..", "..", "docs", "terminal.md"), name, strings.Join(rows, "\n")+"\n")
	}
	kept, err := os.ReadFile(filepath.Join(dir, "kept", "main", "note.txt"))
	if err != nil || string(kept) != "one\nblue\n" {
		t.Errorf("the file is %q: %v", kept, err)
	}
}

// The parts of a recording that differ every time: job ids, and times, which a row may lack if its step ended at once. A step that
// has just begun may not be shown as claimed or running yet.
var differs = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(` +[0-9.]+m?s\b`), ""},
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(`(?m)^  [·▶▷] `), "  · "},
}

func steady(text string) string {
	for _, d := range differs {
		text = d.pattern.ReplaceAllString(text, d.by)
	}
	return text
}

// recorded compares a recording with the block of a page after the line <!-- recording: NAME -->.
func recorded(t *testing.T, page, name, text string) {
	t.Helper()
	raw := musttest.Get(os.ReadFile(page))(t)
	before, rest, found := strings.Cut(string(raw), "<!-- recording: "+name+" -->\n```\n")
	shown, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block for the recording %s", page, name)
	}
	if goldentest.Update() {
		raw = []byte(before + "<!-- recording: " + name + " -->\n```\n" + text + "```\n" + after)
		musttest.Do(t, os.WriteFile(page, raw, 0o644))
		return
	}
	if diff := cmp.Diff(steady(shown), steady(text)); diff != "" {
		t.Errorf("%s shows another recording of %s (-page +now):\n%s", page, name, diff)
	}
}

// The README shows the end of the run of its goal; `make picture` updates it.
func TestTheReadmeShowsTheRecordingOfItsGoal(t *testing.T) {
	k := atKeyboard(t, t.TempDir(), []string{"NO_COLOR=1", "USER=ann", "JOBGRAPH_SANDBOX=best-effort"}, "jobgraph", "run", "--embedded", "--model", "fake", "Write a page about bees")
	k.until(t, "answer> ")
	k.press(t, "1\n")
	if code := k.end(); code != 0 {
		t.Fatalf("exit code %d: %s", code, k.seen.String())
	}
	rows, faults := screentest.Replay(100, 50, k.seen.String())
	if len(faults) > 0 {
		t.Errorf("on the terminal:\n%s", strings.Join(faults, "\n"))
	}
	end := slices.Index(rows, "● result  writer")
	if end < 0 {
		t.Fatalf("the result is not written: %s", strings.Join(rows, "\n"))
	}
	recorded(t, filepath.Join("..", "..", "README.md"), "goal", strings.Join(rows[end:], "\n")+"\n")
}
