package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// steps is a client that takes part in a job: it finishes a step when it is notified that the previous one is done.
type steps struct {
	*site
	mu    sync.Mutex // Guards heard and last.
	heard []string
	last  float64
}

func TestAWaitTellsHowTheJobMovesAndGivesItsResult(t *testing.T) {
	for _, revision := range revisions {
		s := &steps{site: open(t), last: -1}
		s.change("j", func(*verb.Waited) {})
		c := s.connect(s.start(), token(verb.Viewer), revision, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.mu.Lock()
			defer s.mu.Unlock()
			p := r.Params
			if p.Progress <= s.last || p.ProgressToken != "t" || p.Total < p.Progress {
				s.Errorf("%+v after %f", p, s.last)
			}
			s.last = p.Progress
			if len(s.heard) > 0 && s.heard[len(s.heard)-1] == p.Message {
				return // A sign of life.
			}
			s.heard = append(s.heard, p.Message)
			switch p.Message {
			case "RUNNING, 0 of 2 SubJobs are done":
				s.change("j", func(j *verb.Waited) { j.Done = 1 })
			case "RUNNING, 1 of 2 SubJobs are done":
				s.change("j", func(j *verb.Waited) { // A step runs again; then the job has ended, but its end is not in the log yet.
					j.Done, s.after = 0, func(j *verb.Waited) { j.Done, j.Status = 2, events.Finished }
				})
			case "FINISHED, 2 of 2 SubJobs are done":
				s.change("j", finish)
			}
		}})
		p := &sdk.CallToolParams{Name: "wait", Arguments: object{"id": "j", "timeout": "1h"}}
		p.SetProgressToken("t")
		out, err := c.CallTool(t.Context(), p)
		if err != nil || out.IsError {
			t.Fatal(out, err)
		}
		tools := musttest.Get(c.ListTools(t.Context(), nil))(t)
		s.fits(tools.Tools, "wait", out)
		s.mu.Lock()
		heard := strings.Join(s.heard, "; ")
		s.mu.Unlock()
		if text := fmt.Sprint(out.StructuredContent); !strings.Contains(text, "all is done") || !strings.Contains(heard, "RUNNING, 0 of 2 SubJobs are done; RUNNING, 1 of 2 SubJobs are done") {
			t.Errorf("%s after %s", text, heard)
		}
	}
}

func TestAWaitEndsWithItsTimeAndWithItsCall(t *testing.T) {
	for _, revision := range revisions {
		s := open(t)
		s.change("j", func(*verb.Waited) {})
		ctx, leave := context.WithCancel(t.Context())
		c := s.connect(s.start(), token(verb.Viewer), revision, &sdk.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { leave() },
		})
		out, text := s.call(c, "wait", object{"id": "j", "timeout": "1ms"})
		if out.IsError || !strings.Contains(text, `"status":"RUNNING","ended":false`) {
			t.Errorf("%s", text)
		}
		p := &sdk.CallToolParams{Name: "wait", Arguments: object{"id": "j", "timeout": "1h"}}
		p.SetProgressToken("t")
		if _, err := c.CallTool(ctx, p); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was cancelled ended with %v", err)
		}
		if out, text := s.call(c, "get", object{"id": "j"}); out.IsError || !strings.Contains(text, "RUNNING") {
			t.Errorf("after a wait that was cancelled: %s", text)
		}
	}
}

// asking returns a change that makes a job ask a question.
func asking(q verb.Question) func(*verb.Waited) {
	return func(j *verb.Waited) {
		q.JobID, q.Request, q.SubJob = j.JobID, "ask", "a"
		j.Inputs = []verb.Question{q}
	}
}

var (
	flatForm   = json.RawMessage(`{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":1},"name":{"type":"string"}}}`)
	nestedForm = json.RawMessage(`{"type":"object","required":["to"],"properties":{"to":{"type":"array","items":{"type":"string"}}}}`)
)

// person answers the questions to a client and records the forms. A client may ask several at once.
func person(result *sdk.ElicitResult, forms *[]string) *sdk.ClientOptions {
	var mu sync.Mutex
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		text, err := json.Marshal(r.Params.RequestedSchema)
		mu.Lock()
		defer mu.Unlock()
		*forms = append(*forms, r.Params.Message+" "+string(text))
		return result, err
	}}
}

func accept(content object) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: content}
}

// A job's question is put to the person at the client, in a form that every client can show; the answer is given in the name of the
// token's user.
func TestAQuestionIsPutToThePersonAtTheClient(t *testing.T) {
	s := open(t)
	g := s.start()
	for name, test := range map[string]struct {
		role   verb.Role
		q      verb.Question
		said   object
		form   string // A part of the form.
		answer string
	}{
		"words":    {verb.Submitter, verb.Question{Kind: events.InputClarification, Prompt: "Which?"}, object{"answer": "this one"}, `Which? {"properties":{"answer":{"minLength":1,`, `"this one"`},
		"choices":  {verb.Submitter, verb.Question{Kind: events.InputClarification, Prompt: "Which?", Options: []string{"red", "blue"}}, object{"answer": "red"}, `"enum":["red","blue"]`, `"red"`},
		"open":     {verb.Submitter, verb.Question{Kind: events.InputReview, Prompt: "Good?", Options: []string{"accept"}, Schema: nestedForm, Open: true}, object{"answer": "shorter"}, `"accept, or other words"`, `"shorter"`},
		"form":     {verb.Submitter, verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}, object{"size": 3}, `"minimum":1`, `{"size":3}`},
		"nested":   {verb.Submitter, verb.Question{Kind: events.InputForm, Prompt: "To?", Schema: nestedForm}, object{"answer": ` {"to":["a"]} `}, `JSON that fits this schema`, `{"to":["a"]}`},
		"approval": {verb.Approver, verb.Question{Kind: events.InputApproval, Prompt: "Pay?"}, object{"approved": true}, `"required":["approved"]`, `{"approved":true}`},
		"mine":     {verb.Submitter, verb.Question{Kind: events.InputClarification, User: "submitter", Prompt: "?"}, object{"answer": "x"}, `"answer"`, `"x"`},
	} {
		for _, revision := range revisions {
			job, before, forms := strings.ReplaceAll(name, " ", "_")+revision, len(s.told()), []string{}
			s.change(job, asking(test.q))
			out, text := s.call(s.connect(g, token(test.role), revision, person(accept(test.said), &forms)), "wait", object{"id": job})
			want := fmt.Sprintf(`answer {"answer":%s,"by":%q,"id":%q,"request":"ask"}`, test.answer, test.role, job)
			if told := s.told()[before:]; out.IsError || !strings.Contains(text, "all is done") || len(told) != 1 || told[0] != want {
				t.Errorf("%s: %s, told %q, want %q", job, text, told, want)
			}
			if len(forms) != 1 || !strings.Contains(forms[0], test.form) {
				t.Errorf("%s: the form is %q", job, forms)
			}
		}
	}
}

// A question stays open if it gets no answer, if this client must not answer it, or if the answer does not fit; the result says so.
func TestAQuestionThatIsNotAnsweredStaysOpen(t *testing.T) {
	approval, form := verb.Question{Kind: events.InputApproval, Prompt: "Pay?"}, verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}
	nested := verb.Question{Kind: events.InputForm, Prompt: "To?", Schema: nestedForm}
	plan := verb.Question{Kind: events.InputReview, Prompt: "Run it?", Options: []string{"accept", "reject"}, Schema: json.RawMessage(`{"examples":[1]}`)}
	const unfit = "does not match requested schema" // The error of a client of the newer revision.
	s := open(t)
	g := s.start()
	for name, test := range map[string]struct {
		role  verb.Role
		q     verb.Question
		said  *sdk.ElicitResult // Nil for a client that cannot ask.
		asked int
		want  string
	}{
		"declined":        {verb.Submitter, form, &sdk.ElicitResult{Action: "decline"}, 1, "Ask the user, then call answer"},
		"dismissed":       {verb.Submitter, form, &sdk.ElicitResult{Action: "cancel"}, 1, "Ask the user, then call answer"},
		"not asked":       {verb.Submitter, form, nil, 0, `"answer":…}, where the answer is JSON that fits {`},
		"a review":        {verb.Submitter, plan, nil, 0, `where the answer is {"action":one of ["accept" "reject"],"text":"…"}, or a plan of the user's own: Run it?`},
		"no approver":     {verb.Submitter, approval, accept(object{"approved": true}), 0, `where the answer is {"approved":true|false`},
		"an operator":     {verb.Operator, form, accept(object{"size": 1}), 0, "Ask the user, then call answer"},
		"for another":     {verb.Submitter, verb.Question{Kind: events.InputClarification, User: "boss", Prompt: "?"}, accept(object{"answer": "x"}), 0, "Ask the user"},
		"wrong form":      {verb.Submitter, form, accept(object{"size": "big"}), 1, `"code":"invalid"`},
		"below the limit": {verb.Submitter, form, accept(object{"size": 0}), 1, `"code":"invalid"`},
		"nothing in it":   {verb.Submitter, form, accept(nil), 1, `"code":"invalid"`},
		"no JSON":         {verb.Submitter, nested, accept(object{"answer": "to a"}), 1, `"code":"invalid"`},
		"odd JSON":        {verb.Submitter, nested, accept(object{"answer": `{"to":"a"}`}), 1, `"code":"invalid"`},
	} {
		for _, revision := range revisions {
			job, forms := strings.ReplaceAll(name, " ", "_")+revision, []string{}
			s.change(job, asking(test.q))
			var o *sdk.ClientOptions
			if test.said != nil {
				o = person(test.said, &forms)
			}
			c := s.connect(g, token(test.role), revision, o)
			out, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait", Arguments: object{"id": job}})
			said := fmt.Sprint(err)
			if err == nil {
				text := musttest.Get(json.Marshal(out.Content))(t)
				said = strings.ReplaceAll(string(text), `\"`, `"`)
			}
			fitting := strings.Contains(said, test.want) || strings.Contains(said, unfit) && strings.Contains(test.want, "invalid")
			if !fitting || len(s.told()) > 0 || len(forms) != test.asked {
				t.Errorf("%s: %s, told %q, asked %q", job, said, s.told(), forms)
			}
			if _, text := s.call(c, "inputs", object{"id": job}); !strings.Contains(text, `"request":"ask"`) {
				t.Errorf("%s: the question is gone: %s", job, text)
			}
		}
	}
}

// One wait puts several questions to the person, one after the other.
func TestAJobMayAskMoreThanOnce(t *testing.T) {
	for _, revision := range revisions {
		s, forms := open(t), []string{}
		s.change("j", func(j *verb.Waited) {
			for _, request := range []string{"one", "two"} {
				j.Inputs = append(j.Inputs, verb.Question{JobID: "j", Request: request, Kind: events.InputClarification, Prompt: request})
			}
		})
		out, text := s.call(s.connect(s.start(), token(verb.Submitter), revision, person(accept(object{"answer": "x"}), &forms)), "wait", object{"id": "j"})
		if out.IsError || !strings.Contains(text, "all is done") || len(forms) != 2 || len(s.told()) != 2 {
			t.Errorf("%s after %q, told %q", text, forms, s.told())
		}
	}
}

// A gateway that has not seen an answer yet does not ask the question again.
func TestAnAnsweredQuestionIsNotAskedAgain(t *testing.T) {
	for _, revision := range revisions {
		s, forms := open(t), []string{}
		s.slow = true
		s.change("j", asking(verb.Question{Kind: events.InputClarification, Prompt: "Which?"}))
		out, text := s.call(s.connect(s.start(), token(verb.Submitter), revision, person(accept(object{"answer": "x"}), &forms)), "wait", object{"id": "j"})
		if out.IsError || !strings.Contains(text, "all is done") || len(forms) != 1 || len(s.told()) != 1 {
			t.Errorf("%s after %q, told %q", text, forms, s.told())
		}
	}
}
