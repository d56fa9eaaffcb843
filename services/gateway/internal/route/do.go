package route

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// memo is an http.ResponseWriter that keeps the response in memory.
type memo struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (m *memo) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (*memo) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (m *memo) Write(p []byte) (int, error) { return m.body.Write(p) }

// SetWriteDeadline serves http.ResponseController: writing to memory needs no deadline.
func (*memo) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline serves http.ResponseController: the request has been read.
func (*memo) SetReadDeadline(time.Time) error { return nil }

// Do executes a verb for a program in this process like the verb's route: for the same roles, with the same user in its input, and
// recorded in the same log. in is a JSON object. Errors: *events.Fault and events.Faults.
func (g *Gateway) Do(ctx context.Context, who identity.Identity, name string, in any) (json.RawMessage, error) {
	var answer memo
	answer.header = http.Header{}
	err := g.perform(ctx, who, name, in, &answer, g.answerer(name))
	return answer.body.Bytes(), err
}

// File returns a file of a job of at most this many bytes, with its media type. Errors: *events.Fault and events.Faults.
func (g *Gateway) File(ctx context.Context, who identity.Identity, in verb.ArtifactRef, most int64) (body []byte, media string, err error) {
	var text bytes.Buffer
	err = g.perform(ctx, who, "artifact", in, &memo{header: http.Header{}}, func(c *call) error {
		log, a, err := c.artifact()
		if err != nil {
			return err
		}
		if a.Size > most {
			return &events.Fault{
				Code: events.CodeTooLarge, Field: "name", Message: fmt.Sprintf("the file has %d bytes, at most %d are given here", a.Size, most),
				Hint: fmt.Sprintf("GET /api/v1/jobs/%s/artifacts/%s, or jobgraph artifacts get %s", log.Job.ID, in.Name, log.Job.ID),
			}
		}
		media = mediaOf(a.MediaType)
		return c.gateway.Client.Fetch(ctx, log.Job.ID, a.Ref, &text)
	})
	return text.Bytes(), media, err
}

// perform checks, executes and logs a call that comes from this process.
func (g *Gateway) perform(ctx context.Context, who identity.Identity, name string, in any, w http.ResponseWriter, answer func(*call) error) error {
	v, ok := verb.Find(name)
	if !ok {
		return &events.Fault{Code: events.CodeNotFound, Field: name, Message: "there is no such verb"}
	}
	r, err := http.NewRequestWithContext(as(ctx, who), v.Method, "/", http.NoBody)
	if err != nil {
		return err
	}
	c := &call{gateway: g, verb: &v, w: w, r: r, who: who}
	if err = c.accept(in); err == nil {
		err = answer(c)
	}
	if err == nil {
		g.audit(c, nil)
		return nil
	}
	fault, all, _ := faultOf(err)
	g.audit(c, fault)
	if len(all) > 1 {
		return all
	}
	return fault
}

// accept checks the user and takes over the input.
func (c *call) accept(in any) error {
	if err := c.checked(); err != nil {
		return err
	}
	if !c.verb.MayUse(c.who.Roles) {
		return notPermitted(c.who, c.verb)
	}
	var err error
	if c.raw, err = json.Marshal(in); err != nil {
		return err
	}
	if err := json.Unmarshal(c.raw, &c.in); err != nil || c.in == nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the input is not a JSON object", Hint: "send one JSON object"}
	}
	for _, name := range []string{"id", "request"} { // These fields identify the call in the log.
		c.r.SetPathValue(name, clip(c.text(name)))
	}
	if fault := c.owned(); fault != nil {
		return fault
	}
	if c.verb.Name == "submit" {
		return nil // This verb reads the user itself.
	}
	if fault := c.stamp(c.in); fault != nil {
		return fault
	}
	return nil
}

// owned refuses a user who may use the verb only for their own jobs, if the job is not theirs: schedulers of earlier releases would not
// notice. Whose a job is whose request still waits in the queue, the scheduler finds out, and it refuses what is no id.
func (c *call) owned() *events.Fault {
	if c.verb.Permits(c.who.Roles) || !events.ValidToken(c.text("id")) {
		return nil
	}
	e, err := c.gateway.Client.Bus().Log().LastOf(c.r.Context(), c.text("id"), events.KindJobRequested)
	if err != nil {
		fault, _, _ := faultOf(err)
		return fault
	}
	first, ok := e.Data.(*events.JobRequested)
	if e.Seq == 0 || ok && c.mine(&first.Request) {
		return nil
	}
	fault := notPermitted(c.who, c.verb)
	fault.Field, fault.Message = "id", c.who.Name()+" may "+c.verb.Name+" only their own jobs"
	return fault
}

// mine reports whether a job was requested in the name of this user.
func (c *call) mine(r *events.Request) bool { return c.who.User != "" && r.User == c.who.User }

// notPermitted refuses a user without a role that the verb needs.
func notPermitted(who identity.Identity, v *verb.Verb) *events.Fault {
	return &events.Fault{Code: events.CodeNotPermitted, Field: v.Name, Message: who.Name() + " may not do this", Hint: "it takes the role " + v.Needs()}
}
