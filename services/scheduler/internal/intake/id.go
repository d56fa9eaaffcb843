package intake

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// Origin says where a request without an id came from: the same origin means the same job.
type Origin struct {
	// Stream identifies the queue, Seq the position in it; empty for a request that did not come from the queue.
	Stream string
	Seq    uint64
	// MsgID, Source and EventID are the headers Nats-Msg-Id, ce-source and ce-id; empty if missing.
	MsgID, Source, EventID string
	// Seal says who signed the request and when, if its signature counts. Then the headers do not make the id: the signature does not
	// cover them, so a sender that repeats the request could change them.
	Seal string
	// Scheduled is true for a run of a schedule, which may have the id of one.
	Scheduled bool
	// Nonce makes the id of a request that came by request and reply.
	Nonce string
	// Trace is the traceparent of the request, if any. It does not affect the id.
	Trace string
	// Zone is the time zone of the sender, if it names one. It does not affect the id.
	Zone string
}

// QueueName identifies the request queue: a recreated queue gets another name.
func QueueName(facts bus.StreamFacts) string {
	return facts.Name + "@" + facts.Created.UTC().Format(time.RFC3339Nano)
}

// OriginOf reads the headers of a queued request.
func OriginOf(m events.Message, stream string, seq uint64) Origin {
	return Origin{Stream: stream, Seq: seq, Seal: seal.Stamp(&m), MsgID: m.Get(events.HeaderMsgID), Source: m.Get(events.HeaderSource), EventID: m.Get(events.HeaderID), Trace: m.Get(events.HeaderTrace), Zone: m.Get(events.HeaderZone)}
}

// of returns the origin of a request whose sender is known, or not.
func (o Origin) of(who *seal.Signer) Origin {
	if who == nil || who.Key == "" {
		o.Seal = ""
	}
	if o.Seal != "" {
		o.MsgID, o.Source = "", who.Key
	}
	return o
}

// id hashes the most specific origin there is: message id, CloudEvents id, signature, place in the queue, nonce.
func (o Origin) id(body []byte) string {
	from := o.Source
	if from == "" {
		from = o.Stream
	}
	switch {
	case o.MsgID != "":
		return hashID("msg-id", from, o.MsgID)
	case o.EventID != "":
		return hashID("ce", from, o.EventID)
	case o.Seal != "":
		return hashID("seal", o.Seal, string(body))
	case o.Seq != 0:
		return hashID("queue", o.Stream, fmt.Sprint(o.Seq))
	}
	return hashID("api", o.Nonce, string(body))
}

// hashID returns "j" and 26 characters that depend on every part.
func hashID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:16])
	return "j" + strings.ToLower(text)
}

// digestOf returns the SHA-256 of a request as canonical JSON: sorted keys, no white space, numbers unchanged, without the id.
func digestOf(r *events.Request) (string, error) {
	plain := *r
	plain.ID = ""
	data, err := events.Marshal(&plain)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical(data))
	return hex.EncodeToString(sum[:]), nil
}
