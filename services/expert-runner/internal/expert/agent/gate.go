package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// maxAsked is the maximum size in bytes of arguments that need approval: they are shown in full, or denied.
const maxAsked = 64 << 10

// permit is the decision about a call. Exactly one of refusal, ask and args is set.
type permit struct {
	// args are the arguments for the tool; edited is true if a person changed them.
	args   string
	edited bool
	// refusal is the text for the model about a call that is not made; outcome is the value to count.
	refusal, outcome string
	// ask is the question for a person.
	ask *events.InputRequested
}

// Outcomes of a call, for the metrics.
const (
	outcomeOK       = "ok"
	outcomeError    = "error"
	outcomeDenied   = "denied"
	outcomeRejected = "rejected"
	outcomeUnknown  = "unknown"
)

// gate decides about the tool calls of a run, by policies and by people's approvals.
type gate struct{ run *run }

// pass decides about a call, by the policies, a person's answer and the limits of the request.
func (g gate) pass(number, i int, call *conversation.Call) permit {
	p := g.decide(number, i, call)
	if p.ask == nil && p.refusal == "" {
		if reason := g.run.spend(call.Name); reason != "" {
			return denied(call.Name, reason)
		}
	}
	return p
}

func (g gate) decide(number, i int, call *conversation.Call) permit {
	if _, known := g.run.tools[call.Name]; !known && !g.run.asks(call.Name) {
		return permit{refusal: g.run.unknown(call.Name), outcome: outcomeError}
	}
	args, err := g.run.arguments(call)
	if err != nil {
		return permit{refusal: mishap + err.Error(), outcome: outcomeError}
	}
	v := g.judge(call.Name, args)
	switch {
	case v.Action == policy.Allow, v.Action == policy.Ask && g.run.asks(call.Name):
		return permit{args: args}
	case v.Action != policy.Ask:
		return denied(call.Name, v.Reason)
	case g.run.config.Unattended:
		return denied(call.Name, strings.TrimSuffix("a person has to approve of it, and no person is available: "+v.Reason, ": "))
	case len(args) > maxAsked:
		return denied(call.Name, fmt.Sprintf("a person has to approve of it, and the arguments are %d bytes long, at most %d can be shown", len(args), maxAsked))
	}
	mark := fmt.Sprintf("approve-%d-%d", number, i)
	if closed := g.run.closedAs(mark); closed != nil {
		return g.decided(call, args, closed)
	}
	return permit{ask: g.question(mark, call.Name, args, &v)}
}

// arguments reads the arguments of a call by the schema of its tool. Those that can be read in more than one way are an
// error.
func (r *run) arguments(call *conversation.Call) (string, error) {
	if !r.exchange.careful {
		return tool.Object(call.Args)
	}
	schema := r.tools[call.Name].Schema
	if r.asks(call.Name) {
		schema = json.RawMessage(personSchema)
	}
	args, trust, err := tool.Arguments(call.Args, schema)
	r.trusted(useTool, trust)
	return args, err
}

func (g gate) judge(name, args string) policy.Verdict {
	return g.run.config.Gate.Judge(policy.Call{Expert: g.run.config.ID, Tool: name, Args: json.RawMessage(args)})
}

// closedAs returns the answer to a question of this run, or of one that it resumes; nil if there is none.
func (r *run) closedAs(mark string) *events.InputClosed {
	for request, closed := range r.task.Work.Answers { // any order: at most one request of a run and those that it resumes has this mark.
		if strings.HasSuffix(request, "~"+mark) {
			return &closed
		}
	}
	return nil
}

// decided applies a person's decision. Edited arguments are checked again: a person cannot override a denial.
func (g gate) decided(call *conversation.Call, args string, closed *events.InputClosed) permit {
	d := readDecision(closed)
	switch {
	case !d.approved:
		return permit{refusal: refusal("rejected", call.Name, because(d.reason, "a person has rejected the call")), outcome: outcomeRejected}
	case d.args == "":
		return permit{args: args}
	}
	if v := g.judge(call.Name, d.args); v.Action.Refuses() {
		return denied(call.Name, v.Reason)
	}
	return permit{args: d.args, edited: d.args != args}
}

func denied(name, reason string) permit {
	return permit{refusal: refusal("denied", name, because(reason, "a policy does not allow the call")), outcome: outcomeDenied}
}

func because(reason, otherwise string) string {
	if reason = strings.TrimSpace(reason); reason != "" {
		return reason
	}
	return otherwise
}

// refusal returns the text for the model about a call that was not made.
func refusal(status, name, reason string) string {
	text, _ := json.Marshal(struct { // Strings can always be encoded.
		Error  string `json:"error"`
		Status string `json:"status"`
		Tool   string `json:"tool"`
	}{conversation.Clip(reason, maxQuestion), status, name})
	return string(text)
}

// approvalSchema is the JSON Schema of an answer to a question for approval. The arguments are only in the question's text,
// since a second copy could make it too large for a message.
const approvalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},` +
	`"reason":{"type":"string","description":"told to the expert when it is rejected"},` +
	`"args":{"type":"object","description":"in place of the arguments"}},"required":["approved"]}`

// question builds the question for a person: the tool and its complete arguments.
func (g gate) question(mark, name, args string, v *policy.Verdict) *events.InputRequested {
	w := g.run.task.Work
	user := v.User
	if user == "" {
		user = w.User
	}
	asked := &events.InputRequested{
		Request: jobrun.RequestID(w.SubJob, w.Run, mark), Kind: events.InputApproval, Options: []string{"approve", "reject"}, User: user,
		Prompt: fmt.Sprintf("May %s call %s with %s?", g.run.config.ID, name, printable(args)), Schema: json.RawMessage(approvalSchema),
		ExpiresIn: events.Duration(v.Expires), Default: json.RawMessage(`{"approved":false,"reason":"no answer in time"}`), // The job may set a time, too.
	}
	if v.Reason != "" {
		asked.Prompt += " " + conversation.Clip(v.Reason, maxQuestion)
	}
	return asked
}
