package route

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/webhook"
)

// keyHeader is the header by which a repeated request is recognised.
const keyHeader = "Idempotency-Key"

// mostKey is the longest key, in bytes.
const mostKey = 255

// submit submits a job: 201, or 202 while no scheduler has read the request.
func submit(c *call) error {
	if len(c.raw) == 0 {
		return &events.Fault{Code: events.CodeMissing, Field: "goal", Message: "there is no request", Hint: `send {"goal":"…"}`}
	}
	request, faults := events.DecodeRequest(c.raw)
	if len(faults) > 0 {
		return faults
	}
	user, fault := c.user("user", request.User)
	if fault != nil {
		return fault
	}
	request.User = user
	if fault := c.identify(&request); fault != nil {
		return fault
	}
	if fault := webhook.Check(c.gateway.Webhooks, request.Labels); fault != nil {
		return fault
	}
	if err := c.shield(&request); err != nil {
		return err
	}
	receipt, err := c.gateway.Client.Ask(c.r.Context(), request)
	if err != nil {
		return err
	}
	c.made = receipt.JobID
	status := http.StatusCreated
	if !receipt.Admitted && receipt.ScheduleID == "" && receipt.Answered == "" {
		status = http.StatusAccepted
	}
	c.w.Header().Set("Location", "/api/v1/jobs/"+receipt.JobID)
	c.sent = true
	reply(c.w, c.r, status, receipt)
	return nil
}

// identify gives a request with an Idempotency-Key an id that depends only on the user and the key.
func (c *call) identify(r *events.Request) *events.Fault {
	key := c.r.Header.Get(keyHeader)
	switch {
	case key == "":
		return nil
	case len(key) > mostKey:
		return &events.Fault{Code: events.CodeTooLarge, Field: keyHeader, Message: "the key is longer than 255 bytes", Hint: "use a UUID"}
	case r.ID != "":
		return &events.Fault{Code: events.CodeInvalid, Field: keyHeader, Message: "the request has an id already", Hint: "an id makes a request repeatable by itself: leave the key out"}
	}
	r.ID = keyed(c.who.User, key)
	return nil
}

// keyed returns the id of a job for a user and a key.
func keyed(user, key string) string {
	sum := sha256.Sum256([]byte(user + "\x00" + key))
	return "k-" + hex.EncodeToString(sum[:16])
}

// shield prevents a message of a user who may not approve from answering an open approval in its session. Schedulers see to that themselves;
// those of earlier releases do not read the rights of the user.
func (c *call) shield(r *events.Request) error {
	if r.Session == "" || r.New || mayApprove(c.who) {
		return nil
	}
	s, err := c.gateway.Client.Sessions().As(r.User).Get(c.r.Context(), r.Session)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range s.Jobs {
		if !s.Jobs[i].Asking {
			continue
		}
		open, err := c.open(s.Jobs[i].ID)
		if err != nil {
			return err
		}
		for _, q := range open {
			r.New = r.New || approves(q.Kind)
		}
	}
	return nil
}

func mayApprove(who identity.Identity) bool { return who.Has(verb.Approver) }

// approves reports whether an answer of a kind permits an action.
func approves(kind events.InputKind) bool {
	return kind == events.InputApproval || kind == events.InputUnknown
}

// MayAnswer reports whether a user may answer a question: one that permits an action needs an approver, one for a user needs that
// user.
func (g *Gateway) MayAnswer(who identity.Identity, q *verb.Question) bool {
	v, _ := verb.Find("answer")
	return v.Permits(who.Roles) && (mayApprove(who) || !approves(q.Kind)) && (q.User == "" || q.User == who.User || who.User == "" && who.Has())
}

// open lists the open requests for input of a job.
func (c *call) open(job string) ([]verb.Question, error) {
	body, err := c.ask("inputs", verb.OpenInputs{ID: job})
	if err != nil {
		return nil, err
	}
	var list verb.Questions
	err = json.Unmarshal(body, &list)
	return list.Inputs, err
}

// answer answers a request for input. One that permits an action needs an approver, as shield says.
func answer(c *call) error {
	if !mayApprove(c.who) {
		open, err := c.open(c.text("id"))
		if err != nil {
			return err
		}
		for _, q := range open {
			if q.Request == c.text("request") && approves(q.Kind) {
				return &events.Fault{Code: events.CodeNotPermitted, Field: "request", Message: c.who.Name() + " may not approve actions", Hint: "it takes the role approver or admin"}
			}
		}
	}
	return forward(c)
}

// createSchedule creates a schedule whose jobs run for the user of the request.
func createSchedule(c *call) error {
	request, _ := events.DecodeRequest(c.in["request"]) // The scheduler reports what is wrong with it.
	user, fault := c.user("request.user", request.User)
	if fault != nil {
		return fault
	}
	var fields map[string]json.RawMessage
	if request.User == "" && user != "" && json.Unmarshal(c.in["request"], &fields) == nil && fields != nil {
		fields["user"], _ = json.Marshal(user) // A string can always be encoded.
		c.in["request"], _ = json.Marshal(fields)
	}
	return forward(c)
}

// fork starts a job from the state of another, for the same user as that job.
func fork(c *call) error {
	var in verb.Forking
	if err := c.into(&in); err != nil {
		return err
	}
	ctx, logs := c.r.Context(), c.gateway.Client.Logs()
	log, err := logs.Fold(ctx, in.ID, in.At)
	if err != nil {
		return err
	}
	if first := log.Request(); first != nil {
		if _, fault := c.user("user", first.Request.User); fault != nil {
			return fault
		}
	}
	if key := c.r.Header.Get(keyHeader); in.NewID == "" && key != "" {
		in.NewID = keyed(c.who.User, key)
	}
	made, err := logs.Fork(ctx, log, joblog.Fork{ID: in.NewID, Before: in.Before, Model: in.Model, Expert: in.Expert, Prompt: in.Prompt, Result: in.Result})
	if err != nil {
		return err
	}
	c.made = made.Request.ID
	c.w.Header().Set("Location", "/api/v1/jobs/"+made.Request.ID)
	return c.reply(verb.Forked{JobID: made.Request.ID, From: made.From, At: made.At, Kept: made.Kept, Total: made.Total})
}
