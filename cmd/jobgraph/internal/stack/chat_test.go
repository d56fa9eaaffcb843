package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// chatToken is the token of an admin.
const chatToken = "chat-token-0123456789-abcdef"

// chatScript asks for a colour, has the scribe name it, and then answers from what was said before.
const chatScript = `
answers:
  - when: {contains: [fail badly]}
    status: 400
    text: "no"
  - when: {contains: [You are the first to read a request, and again, it is BLUE]}
    text: '{"decision":"answer","answer":"As I said: blue.","enriched_query":null,"locale":"en-US","title":null,"question":null,"options":null}'
  - when: {contains: [You are the first to read a request, paint, blue]}
    text: '{"decision":"hand_on","answer":null,"enriched_query":null,"locale":"en-US","title":"Paint","question":null,"options":null}'
  - when: {contains: [You are the first to read a request, paint]}
    text: '{"decision":"clarify","answer":null,"enriched_query":null,"locale":"en-US","title":null,"question":"Which colour?","options":["red","blue"]}'
  - when: {contains: ['"subjobs"', Scribe]}
    text: '{"title":"Paint","thought":"One step.","locale":"en-US","adequate":true,"has_enough_context":true,"guidance_message":null,"subjobs":[{"id":"name","goal":"Name the colour","title":"Name","expert":"Scribe","dependencies":[],"context":"","completion_criteria":"","thinking":"","language":null,"schedule":null}]}'
  - when: {contains: [Name the colour]}
    text: "<deliverable>I have looked: it is BLUE</deliverable>"
`

// talker starts a stack, and returns a client of OpenAI's API for it.
func talker(t *testing.T) (*stack.Stack, *openai.Client) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "model.yaml")
	card := filepath.Join(dir, "scribe.md")
	for file, text := range map[string]string{script: chatScript, card: "---\nname: Scribe\ndescription: Names colours\nkind: llm\nretries: 0\n---\nName things.\n"} {
		musttest.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	out := io.Discard
	if testing.Verbose() {
		out = t.Output()
	}
	k := musttest.Get(stack.Start(t.Context(), stack.Settings{
		Host: host.Settings{HTTPAddr: "127.0.0.1:0"}, Env: func(string) (string, bool) { return "", false }, Model: stack.FakeModel + ":" + script,
		Experts: []string{card}, Token: chatToken, Log: slog.New(slog.NewTextHandler(out, nil)),
	}))(t)
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := openai.DefaultConfig(chatToken)
	c.BaseURL = k.HTTP() + "/v1"
	return k, openai.NewClientWithConfig(c)
}

// streamed reads a streamed answer and returns its text and the progress that was reported.
func streamed(t *testing.T, c *openai.Client, r openai.ChatCompletionRequest) (text, reasoning string, pieces int) {
	t.Helper()
	r.Stream, r.StreamOptions = true, &openai.StreamOptions{IncludeUsage: true}
	s := musttest.Get(c.CreateChatCompletionStream(t.Context(), r))(t)
	defer func() { _ = s.Close() }() // The stream has been read.
	finish, usage := "", false
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		usage = usage || chunk.Usage != nil
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != "" {
				pieces++
			}
			text, reasoning, finish = text+choice.Delta.Content, reasoning+choice.Delta.ReasoningContent, finish+string(choice.FinishReason)
		}
	}
	if finish != "stop" || !usage {
		t.Errorf("ended with %q, usage %v", finish, usage)
	}
	return text, reasoning, pieces
}

// A client of OpenAI's API talks to a profile: it gets a question, answers it, and continues the conversation.
func TestAnOpenAIClientTalksToAProfileInSeveralTurns(t *testing.T) {
	k, c := talker(t)
	list, err := c.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range list.Models {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); !strings.HasPrefix(got, "default assistant graph research steps ") || !strings.Contains(got, " scribe") {
		t.Errorf("models: %s", got)
	}
	r := openai.ChatCompletionRequest{Model: "default", Messages: []openai.ChatCompletionMessage{{Role: "system", Content: "Be brief."}}}
	say := func(text string) {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: "user", Content: text})
	}
	heard := func(text string) {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: "assistant", Content: text})
	}

	say("paint the wall")
	asked, _, _ := streamed(t, c, r)
	if asked != "Which colour?\n\n- red\n- blue" {
		t.Fatalf("asked %q", asked)
	}
	heard(asked)
	say("blue")
	painted, reasoning, pieces := streamed(t, c, r)
	if painted != "I have looked: it is BLUE" || !strings.Contains(reasoning, "One step.") || pieces < 1 {
		t.Fatalf("answered %q in %d pieces, reasoned %q", painted, pieces, reasoning)
	}
	heard(painted)
	say("and again?")
	whole := musttest.Get(c.CreateChatCompletion(t.Context(), r))(t)
	if m := whole.Choices[0]; m.Message.Content != "As I said: blue." || m.FinishReason != openai.FinishReasonStop || whole.Usage.TotalTokens == 0 {
		t.Errorf("answered %+v", whole)
	}
	heard(whole.Choices[0].Message.Content)
	say("and again!")
	if whole, err = c.CreateChatCompletion(t.Context(), r); err != nil || whole.Choices[0].Message.Content != "As I said: blue." {
		t.Errorf("answered %+v, %v", whole, err)
	}
	jobs, err := theJobs(t, k)
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%d jobs for four turns, one of them an answer: %v", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Session != jobs[0].Session || j.Session == "" {
			t.Errorf("job %s is in session %q, another in %q", j.ID, j.Session, jobs[0].Session)
		}
	}
}

func theJobs(t *testing.T, k *stack.Stack) ([]*client.Job, error) {
	t.Helper()
	c, err := client.Connect(t.Context(), k.Options())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.List(context.WithoutCancel(t.Context()), client.Query{})
}

// raw sends a request without any library.
func raw(t *testing.T, k *stack.Stack, header map[string]string, body string) (int, http.Header, string) {
	t.Helper()
	r := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, k.HTTP()+"/v1/chat/completions", strings.NewReader(body)))(t)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	text := musttest.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, answer.Header, string(text)
}

// A client without a library talks to an expert, in a session that it names.
func TestARawClientTalksToAnExpertInASessionOfItsChoice(t *testing.T) {
	k, _ := talker(t)
	auth := map[string]string{"Authorization": "Bearer " + chatToken, "Content-Type": "application/json", "Jobgraph-Session": "wall"}
	status, header, body := raw(t, k, auth, `{"model":"Scribe","messages":[{"role":"user","content":[{"type":"text","text":"Name the colour"}]}]}`)
	var whole struct {
		Object  string
		Choices []struct {
			Message struct{ Role, Content string }
			Finish  string `json:"finish_reason"`
		}
		Jobgraph struct {
			Session string
			JobID   string `json:"job_id"`
		}
	}
	if err := json.Unmarshal([]byte(body), &whole); err != nil || status != http.StatusOK || len(whole.Choices) != 1 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	if one := whole.Choices[0]; one.Message.Content != "I have looked: it is BLUE" || one.Message.Role != "assistant" || one.Finish != "stop" || whole.Object != "chat.completion" {
		t.Errorf("%s", body)
	}
	if whole.Jobgraph.Session != "wall" || header.Get("Jobgraph-Session") != "wall" || header.Get("Jobgraph-Job") != whole.Jobgraph.JobID {
		t.Errorf("%s %v", body, header)
	}
	status, _, body = raw(t, k, auth, `{"model":"scribe","stream":true,"messages":[{"role":"user","content":"Name the colour"}]}`)
	lines := strings.Split(strings.TrimSpace(body), "\n\n")
	said := ""
	for _, line := range lines[:len(lines)-1] {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &chunk); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, choice := range chunk.Choices {
			said += choice.Delta.Content
		}
	}
	if status != http.StatusOK || said != "I have looked: it is BLUE" || lines[len(lines)-1] != "data: [DONE]" {
		t.Errorf("%d %q in %s", status, said, body)
	}
	status, header, body = raw(t, k, auth, `{"model":"scribe","messages":[{"role":"user","content":"fail badly"}]}`)
	if status != http.StatusUnprocessableEntity || header.Get("X-Should-Retry") != "false" || !strings.HasPrefix(body, `{"error":{"message":`) {
		t.Errorf("%d %v %s", status, header, body)
	}
}

// The newer API does the same: a response follows the one that it names.
func TestAnOpenAIClientGetsResponsesThatFollowEachOther(t *testing.T) {
	k, c := talker(t)
	first := musttest.Get(c.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "default", Input: "paint the wall", Instructions: "Be brief."}))(t)
	if got := first.GetOutputText(); got != "Which colour?\n\n- red\n- blue" || first.Status != openai.ResponseStatusCompleted {
		t.Fatalf("%q %+v", got, first)
	}
	s := musttest.Get(c.CreateResponseStream(t.Context(), openai.CreateResponseRequest{Model: "default", Input: "blue", PreviousResponseID: first.ID}))(t)
	defer func() { _ = s.Close() }() // The stream has been read.
	var kinds []string
	var last *openai.CreateResponseResponse
	text := ""
	for number := 0; ; number++ {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.SequenceNumber != number {
			t.Errorf("event %d has the number %d", number, e.SequenceNumber)
		}
		if kind := strings.TrimPrefix(string(e.Type), "response."); len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
		text += e.Delta
		if e.Response != nil {
			last = e.Response
		}
	}
	if got := strings.Join(kinds, " "); got != "created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done completed" {
		t.Error(got)
	}
	if text != "I have looked: it is BLUE" || last.GetOutputText() != text || last.Usage.TotalTokens == 0 {
		t.Errorf("%q, then %+v", text, last)
	}
	third, err := c.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "default", Input: []openai.ResponseInputMessage{{Role: "user", Content: "and again?"}}, PreviousResponseID: last.ID})
	if err != nil || third.GetOutputText() != "As I said: blue." {
		t.Errorf("%+v %v", third, err)
	}
	if jobs, err := theJobs(t, k); err != nil || len(jobs) != 2 || jobs[0].Session != jobs[1].Session {
		t.Errorf("%d jobs: %v", len(jobs), err)
	}
	var refused *openai.APIError
	if _, err := c.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "default", Input: "x", PreviousResponseID: "resp_none_12345678"}); !errors.As(err, &refused) || refused.HTTPStatusCode != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	if _, err := c.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "default", Input: "x", Background: true}); !errors.As(err, &refused) || refused.HTTPStatusCode != http.StatusBadRequest {
		t.Errorf("%v", err)
	}
}

// On a bus with permissions, the gateway may store what it needs to continue conversations.
func TestAConversationGoesOnWithPermissionsForEveryRole(t *testing.T) {
	l, k := fortress(t, secure.Change{}, shouting(t))
	c := openai.DefaultConfig("0123456789abcdef0123456789abcdef")
	c.BaseURL = k.HTTP() + "/v1"
	r := openai.ChatCompletionRequest{Model: "Shout Expert", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "one"}}}
	for _, next := range []string{"two", ""} {
		answer := musttest.Get(openai.NewClientWithConfig(c).CreateChatCompletion(t.Context(), r))(t)
		r.Messages = append(r.Messages, answer.Choices[0].Message, openai.ChatCompletionMessage{Role: "user", Content: next})
	}
	jobs, err := enter(t, l, k, "client").List(t.Context(), client.Query{})
	if err != nil || len(jobs) != 2 || jobs[0].Session != jobs[1].Session {
		t.Errorf("%d jobs, in one session: %v", len(jobs), err)
	}
}
