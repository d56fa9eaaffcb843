package web

import (
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// workBuffer is the work without the fields that concern only the bus: its fields hide those of the same name in Work.
type workBuffer struct {
	*events.Work
	ReportSubject string   `json:"report_subject,omitempty"`
	ReportID      string   `json:"report_id,omitempty"`
	ClaimSubject  string   `json:"claim_subject,omitempty"`
	ItemSubject   string   `json:"item_subject,omitempty"`
	Former        string   `json:"former,omitempty"`
	CancelSubject string   `json:"cancel_subject,omitempty"`
	Lease         string   `json:"lease,omitempty"`
	Select        []string `json:"select,omitempty"`
	// Brief is the full brief; BriefRef is left out.
	Brief    *brief.Brief `json:"brief,omitempty"`
	BriefRef *events.Ref  `json:"brief_ref,omitempty"`
	// Session, Thread and User say for whom the work is done.
	Session string `json:"session,omitempty"`
	Thread  string `json:"thread,omitempty"`
	User    string `json:"user,omitempty"`
}

// write returns the work as JSON. Its fields fill the address; the body says for whom the work is done only as far as the card
// shares that.
func (c *Config) write(t *expert.Task) (work, sent json.RawMessage, err error) {
	w := workBuffer{Work: t.Work, Brief: t.Brief(), Session: t.Work.Session, Thread: t.Work.Thread, User: t.Work.User}
	if work, err = json.Marshal(w); err != nil {
		return nil, nil, fmt.Errorf("write work: %w", err)
	}
	if !c.sends() {
		return work, nil, nil
	}
	who := brief.Brief{Session: w.Session, Thread: w.Thread, User: w.User}
	who.Share(c.Share)
	w.Session, w.Thread, w.User = who.Session, who.Thread, who.User
	if w.Brief != nil {
		w.Brief.Share(c.Share)
	}
	if sent, err = json.Marshal(w); err != nil {
		return nil, nil, fmt.Errorf("write work: %w", err)
	}
	return work, sent, nil
}

// body returns what to send: one field of the work, which the card names, or all that may be sent.
func (c *Config) body(work, sent json.RawMessage) ([]byte, error) {
	switch {
	case !c.sends():
		return nil, nil
	case c.Body == "":
		return sent, nil
	}
	if field, ok := task.At(sent, c.Body); ok {
		return field, nil
	}
	field, ok := task.At(work, c.Body)
	if !ok {
		return nil, unfit(c.Body + " is missing in the work, and is what is sent")
	}
	return field, nil
}
