package main_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// talking starts a chat on a pseudo-terminal with an expert whose answers the model gives.
func talking(t *testing.T, model *llmtest.Server, card string) *keyboard {
	t.Helper()
	dir := t.TempDir()
	served := httptest.NewServer(model)
	t.Cleanup(served.Close)
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "host.md"), []byte(card), 0o600))
	vars := []string{"OPENAI_BASE_URL=" + served.URL + "/v1", "OPENAI_MODEL=scripted"}
	k := atKeyboard(t, dir, vars, "jobgraph", "chat", "--embedded", "--experts", "host.md", "--expert", "Host")
	k.until(t, "you> ")
	return k
}

// greeter always gives the same answer.
func greeter() *llmtest.Server {
	return llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "<deliverable>Pleased to meet you.</deliverable>"}, nil
	}))
}

const greetingCard = "---\nname: Host\nkind: llm\n---\nYou greet people.\n"

func TestAPastedTextAndALongLineAreOneMessage(t *testing.T) {
	long := strings.Repeat("word ", 1300) + "END"
	for name, c := range map[string]struct{ typed, want string }{
		"pasted": {"\x1b[200~first line\nsecond line\n\nlast line\x1b[201~\r", "first line\nsecond line\n\nlast line"},
		"amid":   {"look: \x1b[200~one\rtwo\x1b[201~ and three\r", "look: one\ntwo and three"},
		"long":   {"\x1b[200~" + long + "\x1b[201~\r", long},
		"edited": {"Hallo\x1b[D\x1b[D\x1b[D\x1b[D\x7fJ\r", "Jallo"},
		"slash":  {" /etc/passwd is a path\r", "/etc/passwd is a path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := greeter()
			k := talking(t, model, greetingCard)
			k.press(t, c.typed)
			k.until(t, "Pleased to meet you.", "you> ")
			k.press(t, "/quit\r")
			if code := k.end(); code != 0 {
				t.Fatalf("exit code %d: %s", code, k.seen.String())
			}
			asked := model.Asked()
			if len(asked) != 1 || !strings.Contains(asked[0].All(), c.want) {
				t.Errorf("the model was asked %d times, want %.80q: %s", len(asked), c.want, k.seen.String())
			}
		})
	}
}

// Ctrl-D at a question leaves it open, and the chat goes on.
func TestAChatGoesOnAfterAQuestionThatIsLeftOpen(t *testing.T) {
	asks := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if q.Last("tool") == "" {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "ask_person", Args: `{"question":"Which colour?"}`}}}, nil
		}
		return llmtest.Answer{Text: "<deliverable>It is " + q.Last("tool") + ".</deliverable>"}, nil
	}))
	k := talking(t, asks, "---\nname: Host\nkind: llm\ntools: [ask_person]\n---\nYou paint.\n")
	k.press(t, "Paint it\r")
	k.until(t, "answer> ")
	k.press(t, "\x04")
	k.until(t, "the next message answers it", "you> ")
	k.press(t, "/why\r")
	k.until(t, "it waits for an answer", "you> ")
	k.press(t, "/save kept\r")
	k.until(t, "has no files", "you> ")
	k.press(t, "/new Paint the door\r")
	k.until(t, "Paint the door", "answer> ")
	k.press(t, "\x04")
	k.until(t, "Paint the door", "the next message answers it", "you> ")
	k.press(t, "green\r")
	k.until(t, "; /new MESSAGE makes a new job", "It is green", "you> ")
	k.press(t, "\x04")
	if code := k.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, k.seen.String())
	}
}

func TestAChatWritesTheFilesOfItsResult(t *testing.T) {
	writes := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if q.Last("tool") == "" {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"out/note.txt","content":"one"}`}}}, nil
		}
		return llmtest.Answer{Text: "<deliverable>There is a note.</deliverable>"}, nil
	}))
	k := talking(t, writes, "---\nname: Host\nkind: llm\ntools: [write_file]\n---\nYou write.\n")
	k.press(t, "Write a note\r")
	k.until(t, "/save DIR writes its files", "you> ")
	k.press(t, "/save\r")
	k.until(t, "name the folder", "you> ")
	k.press(t, "/save kept\r")
	k.until(t, "kept/", "you> ")
	k.press(t, "/quit\r")
	if code := k.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, k.seen.String())
	}
	found := musttest.Get(filepath.Glob(filepath.Join(k.cmd.Dir, "kept", "*", "note.txt")))(t)
	if len(found) != 1 || string(musttest.Get(os.ReadFile(found[0]))(t)) != "one" {
		t.Errorf("%q was written: %s", found, k.seen.String())
	}
}

// Ctrl-C in a chat on a bus leaves the job running, and says so.
func TestAChatOnABusSaysWhatGoesOnWithoutIt(t *testing.T) {
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "slow.md"), []byte("---\nname: Slow\nkind: command\ncommand: [sh, -c, 'sleep 600']\n---\n"), 0o600))
	up := atKeyboard(t, dir, nil, "jobgraph", "up", "--experts", "slow.md", "--ephemeral", "--nats", "127.0.0.1:0", "--http", "off")
	up.until(t, "bus    ", " list")
	at := regexp.MustCompile(`nats://[0-9.:]+`).FindString(up.seen.String())
	k := atKeyboard(t, dir, nil, "jobgraph", "-s", at, "chat", "--session", "hall", "--expert", "Slow")
	k.until(t, "you> ")
	k.press(t, "Take your time\r")
	k.until(t, "RUNNING")
	k.press(t, "\x03")
	if code := k.end(); code != 130 {
		t.Errorf("exit code %d: %s", code, k.seen.String())
	}
	k.contains(t, " goes on; `jobgraph watch ", "`jobgraph stop ", "`jobgraph chat --session hall` goes on with this session")
	job := regexp.MustCompile(`job (\S+) goes on`).FindStringSubmatch(k.seen.String())
	if stop := atKeyboard(t, dir, nil, "jobgraph", "-s", at, "stop", job[1]); stop.end() != 0 { // It need not drain.
		t.Error(stop.seen.String())
	}
	up.press(t, "\x03")
	up.end()
}

// What was typed before a question was shown approves nothing.
func TestWhatIsTypedAheadAnswersNoQuestion(t *testing.T) {
	asked, on := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(on) })
	defer goOn()
	edits := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if q.Last("tool") == "" {
			close(asked)
			<-on
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"out/note.txt","content":"one"}`}}}, nil
		}
		return llmtest.Answer{Text: "<deliverable>It said: " + q.Last("tool") + "</deliverable>"}, nil
	}))
	k := talking(t, edits, "---\nname: Host\nkind: llm\ntools: [write_file]\npolicies: [{tool: write_file, action: ask}]\n---\nYou write.\n")
	k.press(t, "Write a note\r")
	<-asked
	k.press(t, "yes\r")
	k.until(t, "yes\r\n") // The terminal has it.
	goOn()
	k.until(t, "what you typed before this question is no answer to it", "yes, or why not> ")
	k.press(t, "no, thanks\r")
	k.until(t, "It said: ", "you> ")
	if strings.Contains(k.seen.String(), "It said: wrote") {
		t.Errorf("the call was made: %s", k.seen.String())
	}
	k.press(t, "/quit\r")
	if code := k.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, k.seen.String())
	}
}
