package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

const (
	// sessionHeader names the session of a conversation.
	sessionHeader = "Jobgraph-Session"
	// jobHeader names the job of an answer.
	jobHeader = "Jobgraph-Job"
	// markFor is how long a conversation is remembered after its last answer; leftFor is how long a message is remembered that began a
	// session and got no answer.
	markFor, leftFor = 30 * 24 * time.Hour, 10 * time.Minute
)

// mark is stored for each answer of a conversation, under a digest of what had been said up to that answer.
type mark struct {
	// Session is the session of the conversation. Asked is true if the answer was a question to the person.
	Session string `json:"session"`
	Asked   bool   `json:"asked,omitempty"`
	// Next is the message that followed; nil if none has. Only one continuation stays in the session; any other begins a new one.
	Next *following `json:"next,omitempty"`
}

// following is a message that continues a conversation.
type following struct {
	// Turn is the digest of the request with it, ID the id of the job's request. Answered is true once its answer was sent as a
	// whole.
	Turn     string `json:"turn"`
	ID       string `json:"id"`
	Answered bool   `json:"answered,omitempty"`
}

// turn is one message of a conversation, until it is answered.
type turn struct {
	call  *call
	talk  *openai.Conversation
	owner string // Keeps the conversations of users apart.
	// session is the session that the client names, "" if it names none.
	session string
	// before is the key of the mark that this message continues, "" for none; mark is that mark at a revision.
	before   string
	mark     mark
	revision uint64

	request  events.Request
	fresh    bool // The message begins a session under a new id, which is not the client's.
	derived  bool // Its id follows from what it says.
	job      string
	answered string // The question that the message has answered.
	live     uint64 // The first live item that belongs to this answer.
	created  int64  // When the answer was begun, in seconds since 1970.
}

// open finds the session of a conversation, and submits its last message.
func (t *turn) open(in *verb.ChatRequest, model *verb.ModelLine) error {
	asked := ""
	if t.call.who.Has() { // Only an admin may name a user; other clients send whatever they like.
		asked = in.User
	}
	user, fault := t.call.user("user", asked)
	if fault != nil {
		return fault
	}
	t.owner = strings.Join([]string{t.call.who.Name(), user, in.User}, "\x00")
	t.request = events.Request{Goal: t.talk.Last, User: user}
	if model.Kind == kindProfile {
		t.request.Profile = model.ID
	} else {
		t.request.Expert = strings.TrimPrefix(model.ID, kindExpert+":")
	}
	if fault := t.call.identify(&t.request); fault != nil {
		return fault
	}
	if t.request.ID == "" {
		id, err := client.NewID()
		if err != nil {
			return err
		}
		t.request.ID = id
	}
	t.session = cmp.Or(t.session, t.call.r.Header.Get(sessionHeader), in.Metadata["session"])
	place := t.recognise
	if t.session != "" {
		t.request.Session, place = t.session, t.named
	}
	if err := place(t.call.r.Context()); err != nil {
		return err
	}
	return t.submit()
}

// named joins the session that the client names; if that does not exist yet, the message carries what was said before.
func (t *turn) named(ctx context.Context) error {
	_, err := t.call.gateway.Client.Sessions().As(t.request.User).Get(ctx, t.request.Session)
	if errors.Is(err, bus.ErrNotFound) {
		t.request.Context, err = t.talk.Context(), nil
	}
	return err
}

// recognise finds the session of a conversation by what was said in it. A message that was sent before and not answered counts as
// the same message.
func (t *turn) recognise(ctx context.Context) error {
	if len(t.talk.Past) == 0 {
		return t.first(ctx)
	}
	key := openai.Digest(t.owner, t.talk.Past)
	for {
		err := t.read(ctx, key)
		if errors.Is(err, bus.ErrNotFound) {
			return t.first(ctx)
		}
		if err != nil {
			return err
		}
		_, err = t.call.gateway.Client.Sessions().As(t.request.User).Get(ctx, t.mark.Session)
		if errors.Is(err, bus.ErrNotFound) {
			return t.first(ctx)
		}
		if err != nil {
			return err
		}
		next := t.mark.Next
		switch turn := t.digest(); {
		case next == nil:
			t.mark.Next = &following{Turn: turn, ID: t.request.ID}
		case next.Turn != turn || next.Answered:
			return t.first(ctx)
		default:
			t.request.ID = next.ID
		}
		if t.request.Session = t.mark.Session; !t.mark.Asked {
			t.request.Context = t.talk.Instructions
		}
		if next != nil {
			return nil
		}
		if t.revision, err = t.write(ctx, key, markFor); !errors.Is(err, bus.ErrConflict) {
			return err
		}
	}
}

// first begins a session, unless the same message was left without an answer shortly before.
func (t *turn) first(ctx context.Context) error {
	err := t.read(ctx, t.digest())
	if errors.Is(err, bus.ErrNotFound) {
		return errors.Join(t.begin(), t.resume(ctx))
	}
	if err != nil {
		return err
	}
	if t.mark.Next != nil && t.mark.Next.Answered {
		return t.begin()
	}
	err = t.call.gateway.Client.Bus().Sessions().Remove(ctx, bus.ChatKey(t.before), t.revision)
	if errors.Is(err, bus.ErrConflict) || t.mark.Next == nil {
		return t.begin() // Another request has continued that session already.
	}
	left := t.mark
	if e := t.begin(); err != nil || e != nil {
		return errors.Join(err, e)
	}
	t.request.ID, t.request.Session, t.fresh = left.Next.ID, left.Session, false
	t.derived = slices.Contains(t.derivedIDs(), left.Next.ID)
	return nil
}

// begin begins a session whose first message carries what was said before.
func (t *turn) begin() error {
	t.before, t.mark, t.revision = "", mark{}, 0
	t.request.Session, t.request.Context = t.request.ID, t.talk.Context()
	t.fresh = t.call.r.Header.Get(keyHeader) == ""
	return nil
}

// digest identifies the request: the conversation with the new message, the instructions and the model.
func (t *turn) digest() string {
	return openai.Digest(t.owner, t.talk.Past, t.talk.Asked(), openai.Message{Role: "system", Text: t.talk.Instructions}, openai.Message{Role: "model", Text: t.request.Profile + "/" + t.request.Expert})
}

func (t *turn) read(ctx context.Context, key string) error {
	value, revision, err := t.call.gateway.Client.Bus().Sessions().GetLeader(ctx, bus.ChatKey(key))
	if err != nil {
		return err
	}
	t.before, t.mark, t.revision = key, mark{}, revision
	return json.Unmarshal(value, &t.mark)
}

func (t *turn) write(ctx context.Context, key string, ttl time.Duration) (revision uint64, err error) {
	value, err := json.Marshal(&t.mark)
	if err != nil {
		return 0, err
	}
	return t.call.gateway.Client.Bus().Sessions().UpdateFor(ctx, bus.ChatKey(key), value, t.revision, ttl)
}

// submit sends the message to its session.
func (t *turn) submit() error {
	ctx, cl := t.call.r.Context(), t.call.gateway.Client
	if err := t.call.shield(&t.request); err != nil {
		return err
	}
	_, last, err := cl.Bus().Items().Bounds(ctx)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return err
	}
	receipt, err := t.admitted(ctx)
	if err != nil {
		return err
	}
	if receipt.ScheduleID != "" {
		return &events.Fault{Code: events.CodeInvalid, Field: "messages", Message: "the message made schedule " + receipt.ScheduleID + " and no job", Hint: "GET /api/v1/schedules/" + receipt.ScheduleID}
	}
	t.job, t.call.made, t.answered = receipt.JobID, receipt.JobID, receipt.Answered
	if t.answered != "" {
		t.live = last + 1
	}
	h := t.call.w.Header()
	h.Set(jobHeader, t.job)
	h.Set(sessionHeader, t.request.Session)
	return nil
}

// remember stores the conversation up to this answer, so that the next message finds its session.
func (t *turn) remember(ctx context.Context, text string, asked bool) error {
	if t.session != "" {
		return nil
	}
	value, err := json.Marshal(mark{Session: t.request.Session, Asked: asked})
	if err != nil {
		return err
	}
	key := openai.Digest(t.owner, t.talk.Past, t.talk.Asked(), openai.Answered(text))
	_, err = t.call.gateway.Client.Bus().Sessions().Put(ctx, bus.ChatKey(key), value, markFor)
	return err
}

// settle records whether the answer was sent as a whole. If not, the same message gets the same answer when it is sent again; noted is
// false if that could not be recorded.
func (t *turn) settle(whole bool) (noted bool) {
	if t.session != "" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.call.r.Context()), settleWithin)
	defer cancel()
	var err error
	switch {
	case whole && t.before != "":
		t.mark.Next.Answered = true
		_, err = t.write(ctx, t.before, markFor)
	case t.before == "" && (!whole || t.derived):
		t.mark = mark{Session: t.request.Session, Next: &following{ID: t.request.ID, Answered: whole}}
		var value []byte
		if value, err = json.Marshal(&t.mark); err == nil {
			_, err = t.call.gateway.Client.Bus().Sessions().Put(ctx, bus.ChatKey(t.digest()), value, leftFor)
		}
	}
	if err != nil && !errors.Is(err, bus.ErrConflict) {
		t.call.gateway.Log.Warn("cannot note what became of an answer", "job", t.job, "error", err)
		return false
	}
	return true
}

// settleWithin limits the time for settle.
const settleWithin = 2 * time.Second
