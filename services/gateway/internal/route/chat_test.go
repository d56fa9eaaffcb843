package route_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// talks is a site whose jobs are played by a test.
type talks struct {
	*site
	mu       sync.Mutex // Guards requests.
	requests []events.Request
	// play, if set, plays a job that has just begun.
	play func(r *events.Request)
}

// talk opens a site with an expert and two profiles.
func talk(t *testing.T, change func(*routeSettings)) *talks {
	t.Helper()
	k := &talks{}
	k.site = open(t, answers{
		"profiles": func([]byte) ([]byte, *events.Fault) {
			return []byte(`{"profiles":[{"name":"assistant","about":"A"},{"name":"default","about":"D","default":true}]}`), nil
		},
		"submit": k.submit,
		"inputs": func([]byte) ([]byte, *events.Fault) { return []byte(`{"inputs":[]}`), nil },
	}, change)
	for _, card := range []string{
		`{"id":"scribe","name":"The Scribe","kind":"llm","description":"Writes"}`, `{"id":"default","name":"Odd","kind":"llm"}`, `{"id":"ghost","name":"Ghost","kind":"llm","hidden":true}`,
	} {
		var c events.Card
		musttest.Decode(t, []byte(card), &c)
		musttest.Get(k.bus.Experts().Put(t.Context(), c.ID, []byte(card), 0))(t)
	}
	return k
}

// submit admits a request as the scheduler does.
func (k *talks) submit(body []byte) ([]byte, *events.Fault) {
	r, faults := events.DecodeRequest(body)
	if len(faults) > 0 {
		return nil, &faults[0]
	}
	k.mu.Lock()
	repeated := false
	for i := range k.requests {
		repeated = repeated || k.requests[i].ID == r.ID
	}
	k.requests = append(k.requests, r)
	k.mu.Unlock()
	if !repeated {
		k.begin(&r)
		if k.play != nil {
			k.play(&r)
		}
	}
	return fmt.Appendf(nil, `{"job_id":%q}`, r.ID), nil
}

// begin puts a job into the log and its session.
func (k *talks) begin(r *events.Request) {
	k.state(r.ID, events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: *r, Rules: events.Rules{Version: events.RulesVersion, Finalize: "tails", Lease: 1, MaxPlanRounds: 2}}})
	record := fmt.Sprintf(`{"id":%q,"user":%q,"state":"active","jobs":[{"id":%q,"status":"FINISHED"}]}`, r.Session, r.User, r.ID)
	if _, err := k.bus.Sessions().Put(context.Background(), bus.SessionKey(r.Session), []byte(record), 0); err != nil {
		k.Error(err)
	}
}

// plan gives a job a graph of one step.
func (k *talks) plan(job string) {
	k.state(job, events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "scribe", Pool: "default"}}}}})
}

// write shows a piece of the text of that step.
func (k *talks) write(job string, offset int, text string) {
	body, err := item.Encode([]item.Item{{Type: item.Text, ID: "answer/1", SubJob: "a", Run: 1, Offset: offset, Text: text}})
	if err == nil {
		err = k.bus.Items().Send(job, "a", "", body)
	}
	if err != nil {
		k.Fatal(err)
	}
}

// finish ends a job with a result.
func (k *talks) finish(job, result string) {
	text := musttest.JSON(k, result)
	k.state(job, events.Event{Kind: events.KindJobFinished, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: text}})
}

// last returns the last request and the number of requests.
func (k *talks) last() (events.Request, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests[len(k.requests)-1], len(k.requests)
}

// chatBody is a request with these messages, the first of which is a person's.
func chatBody(model string, stream bool, said ...string) string {
	var r struct {
		Model    string              `json:"model"`
		Stream   bool                `json:"stream"`
		Messages []map[string]string `json:"messages"`
	}
	r.Model, r.Stream = model, stream
	for n, text := range said {
		r.Messages = append(r.Messages, map[string]string{"role": []string{"user", "assistant"}[n%2], "content": text})
	}
	text, _ := json.Marshal(r) // Strings can always be encoded.
	return string(text)
}

const chatPath = "/v1/chat/completions"

// chat sends messages and returns the answer.
func (k *talks) chat(role verb.Role, said ...string) string {
	k.Helper()
	status, body := k.ask(role, http.MethodPost, chatPath, chatBody("default", false, said...))
	var whole verb.ChatCompletion
	if err := json.Unmarshal([]byte(body), &whole); err != nil || status != http.StatusOK || len(whole.Choices) != 1 || whole.Choices[0].Message.Content == nil {
		k.Fatalf("%d %s %v", status, body, err)
	}
	return *whole.Choices[0].Message.Content
}

// chunks reads a stream of chunks.
type chunks struct {
	*testing.T
	lines *bufio.Scanner
}

// next returns the next chunk with a text, or an error; done is true at the end.
func (c *chunks) next() (content, fault string, done bool) {
	c.Helper()
	for c.lines.Scan() {
		data, ok := strings.CutPrefix(c.lines.Text(), "data: ")
		if !ok {
			if c.lines.Text() != "" {
				c.Errorf("a line is %q", c.lines.Text())
			}
			continue
		}
		if data == "[DONE]" {
			return "", "", true
		}
		var chunk struct {
			verb.ChatCompletion
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			c.Fatalf("%s: %v", data, err)
		}
		if chunk.Error != nil {
			return "", string(chunk.Error), false
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != nil && *choice.Delta.Content != "" {
				return *choice.Delta.Content, "", false
			}
		}
	}
	return "", "the stream was cut", true
}

// stream begins a stream; stop disconnects from it.
func (k *talks) stream(role verb.Role, said ...string) (c *chunks, stop context.CancelFunc) {
	k.Helper()
	ctx, stop := context.WithCancel(k.Context())
	answer, err := http.DefaultClient.Do(k.request(role, http.MethodPost, chatPath, chatBody("default", true, said...)).WithContext(ctx))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { _ = answer.Body.Close() }) // The stream may not be read to its end.
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		k.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	return &chunks{k.T, bufio.NewScanner(answer.Body)}, stop
}

// The text of the answer arrives while the job runs, and the end adds what is missing.
func TestAnAnswerComesWhileItIsWritten(t *testing.T) {
	k := talk(t, nil)
	c, stop := k.stream(verb.Submitter, "go")
	defer stop()
	job, _ := k.last()
	k.plan(job.ID)
	k.write(job.ID, 0, "one")
	if text, _, _ := c.next(); text != "one" {
		t.Errorf("first %q", text)
	}
	k.write(job.ID, 3, " two")
	if text, _, _ := c.next(); text != " two" {
		t.Errorf("then %q", text)
	}
	k.finish(job.ID, "one two three")
	if text, _, _ := c.next(); text != " three" {
		t.Errorf("at the end %q", text)
	}
	if _, fault, done := c.next(); !done || fault != "" {
		t.Errorf("no end: %s", fault)
	}
	if job.Profile != "default" || job.Goal != "go" || job.Session == "" || job.User != "submitter" || job.Context != "" {
		t.Errorf("the request was %+v", job)
	}
}

// What a quick job showed is in the answer, although the end of the job is read first.
func TestAnAnswerHasWhatAQuickJobShowed(t *testing.T) {
	k := talk(t, nil)
	k.play = func(r *events.Request) {
		k.plan(r.ID)
		list := []item.Item{{Type: item.Thinking, ID: "thought/1", SubJob: "a", Run: 1, Text: "First I think. "}, {Type: item.Thinking, ID: "thought/1", SubJob: "a", Run: 1, Offset: 15, Text: "Then I act.", Done: true}}
		body, err := item.Encode(list)
		if err != nil {
			t.Error(err)
		}
		ack, err := k.bus.Items().Confirm(r.ID, "a", "", body)
		if err == nil {
			_, err = ack.Wait(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
		k.finish(r.ID, "done")
	}
	_, body := k.ask(verb.Submitter, http.MethodPost, chatPath, chatBody("default", true, "go"))
	if strings.Count(body, "First I think.") != 1 || strings.Count(body, "Then I act.") != 1 || strings.Index(body, "Then I act.") > strings.Index(body, `"content":"done"`) {
		t.Errorf("answered %s", body)
	}
}

// A conversation that is sent again as a whole continues in its session. What was said before is never submitted again.
func TestAConversationGoesOnInItsSession(t *testing.T) {
	k := talk(t, nil)
	k.play = func(r *events.Request) { k.finish(r.ID, "re: "+r.Goal+" in "+r.ID) }
	first := k.chat(verb.Submitter, "a")
	begun, _ := k.last()
	second := k.chat(verb.Submitter, "a", first, "b")
	if next, n := k.last(); n != 2 || next.Session != begun.Session || next.Goal != "b" || next.Context != "" || next.ID == begun.ID {
		t.Errorf("%d requests, the last %+v after %+v", n, next, begun)
	}
	for name, said := range map[string][]string{
		"another answer":        {"a", "never said", "b"},
		"answered before":       {"a", first, "b"},
		"another continuation":  {"a", first, "c"},
		"another first message": {"x", first, "b"},
	} {
		k.chat(verb.Submitter, said...)
		last, _ := k.last()
		if last.Session == begun.Session || last.Goal != said[2] || !strings.Contains(last.Context, "User: "+said[0]+"\n") {
			t.Errorf("%s: %+v", name, last)
		}
	}
	k.chat(verb.Admin, "a", first, "b", second, "c")
	if last, _ := k.last(); last.Session == begun.Session {
		t.Error("another user is in the session")
	}
	k.chat(verb.Submitter, "a", first, "b", second, "c")
	if last, _ := k.last(); last.Session != begun.Session || last.Context != "" {
		t.Errorf("the session does not go on: %+v", last)
	}
	k.chat(verb.Submitter, "a")
	if last, _ := k.last(); last.Session == begun.Session {
		t.Error("the same first message is the same conversation")
	}
}

// A client that disconnects stops nothing. If it sends the same again, it gets the answer of the same job.
func TestALostClientFindsItsJobAgain(t *testing.T) {
	k := talk(t, nil)
	said := []string{"a"}
	for range 2 { // The second time with the message in the middle of a conversation.
		c, stop := k.stream(verb.Submitter, said...)
		begun, n := k.last()
		k.plan(begun.ID)
		k.write(begun.ID, 0, "half")
		if text, _, _ := c.next(); text != "half" {
			t.Fatalf("said %q", text)
		}
		stop()
		k.idle()
		_, edited := k.stream(verb.Submitter, append(slices.Clone(said[:len(said)-1]), "something else")...)
		if other, _ := k.last(); other.ID == begun.ID || other.Session == begun.Session {
			t.Errorf("another message joins the job: %+v", other)
		}
		edited()
		k.idle()
		n++
		c, stop = k.stream(verb.Submitter, said...)
		again, m := k.last()
		if again.ID != begun.ID || again.Session != begun.Session || m != n+1 {
			t.Fatalf("job %s was begun and then %s", begun.ID, again.ID)
		}
		k.finish(begun.ID, "half and whole")
		answer := ""
		for {
			text, fault, done := c.next()
			if fault != "" {
				t.Fatal(fault)
			}
			if answer += text; done {
				break
			}
		}
		stop()
		if answer != "half and whole" {
			t.Errorf("answered %q", answer)
		}
		said = append(said, answer, "b")
	}
	for _, asked := range k.asked {
		if strings.HasPrefix(asked, "stop ") {
			t.Error("the job was stopped")
		}
	}
}

// idle waits until no answer is being made.
func (k *talks) idle() {
	k.Helper()
	deadline := time.Now().Add(musttest.Patience)
	for strings.Count(k.log.String(), "verb=chat ") < k.answers() {
		if time.Now().After(deadline) {
			k.Fatal("an answer does not end")
		}
		<-time.After(time.Millisecond)
	}
}

// answers returns how many chats have begun.
func (k *talks) answers() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.requests)
}

func TestAStreamSaysWhyItEnds(t *testing.T) {
	var keeper *identity.Keeper
	k := talk(t, func(g *routeSettings) { g.Beat, keeper = shortBeat, g.Guard.Keeper })
	c, stop := k.stream(verb.Submitter, "a")
	defer stop()
	job, _ := k.last()
	k.state(job.ID, events.Event{Kind: events.KindJobFailed, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Failed}, Error: &events.Fault{Code: events.CodeExecution, Message: "it broke"}}})
	if _, fault, _ := c.next(); !strings.Contains(fault, "it broke") || !strings.Contains(fault, "/why") {
		t.Errorf("%s", fault)
	}
	c, stop = k.stream(verb.Submitter, "b")
	defer stop()
	k.site.write(verb.Admin)
	musttest.Get(keeper.Refresh())(t)
	if _, fault, _ := c.next(); !strings.Contains(fault, "authentication_error") {
		t.Errorf("%s", fault)
	}
}

// A user who may not approve gets the question and how it can be answered.
func TestAnApprovalInTheMiddleIsAQuestion(t *testing.T) {
	k := talk(t, nil)
	k.play = func(r *events.Request) {
		k.state(r.ID, events.Event{Kind: events.KindInputRequested, SubJob: events.PlanID, Run: 1, Key: "q", Data: &events.InputRequested{Request: "q", Kind: events.InputApproval, Prompt: "Pay?"}})
	}
	if got := k.chat(verb.Submitter, "go"); !strings.HasPrefix(got, "Pay?\n\n- yes\n- no\n\nThis takes someone with the role approver: POST /api/v1/jobs/") {
		t.Errorf("%q", got)
	}
	if got := k.chat(verb.Admin, "go"); got != "Pay?\n\n- yes\n- no" {
		t.Errorf("%q", got)
	}
}

// What a job says after the token was removed does not reach its client, also before the next sign of life.
func TestAnAnswerEndsWithItsToken(t *testing.T) {
	k := talk(t, nil)
	c, stop := k.stream(verb.Submitter, "a")
	defer stop()
	job, _ := k.last()
	k.plan(job.ID)
	k.write(job.ID, 0, "one")
	if text, _, _ := c.next(); text != "one" {
		t.Errorf("first %q", text)
	}
	k.site.write(verb.Admin)
	musttest.Get(k.keeper.Refresh())(t)
	k.write(job.ID, 3, " two")
	if text, fault, _ := c.next(); text != "" || !strings.Contains(fault, "authentication_error") {
		t.Errorf("then %q %s", text, fault)
	}
}
