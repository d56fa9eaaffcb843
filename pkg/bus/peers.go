package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Peer describes an instance of a micro service.
type Peer struct {
	// ID identifies the instance.
	ID string
	// Metadata is the metadata that the instance declares.
	Metadata map[string]string
}

// PrefixKey is the metadata key by which an instance without endpoints says to which prefix it belongs.
const PrefixKey = "jobgraph.prefix"

// linger is how long to wait for more answers after the first: the number and distance of the instances are unknown.
const linger = 250 * time.Millisecond

// Peers asks all instances of a micro service under this prefix to describe themselves, and calls each for every answer,
// until some time after the first answer or until ctx ends. Errors: ErrNobody, ErrNotPermitted, ErrUnavailable.
func (s Services) Peers(ctx context.Context, service string, each func(Peer)) error {
	subject, err := micro.ControlSubject(micro.InfoVerb, service, "")
	if err != nil {
		return fmt.Errorf("ask for service %s: %w: %v", service, ErrRefused, err)
	}
	return s.collect(ctx, &nats.Msg{Subject: subject}, func(m *nats.Msg) {
		if p, ok := s.peer(m.Data); ok {
			each(p)
		}
	})
}

// Gather asks every process that serves a subject with ServeEach, and calls each for every answer as Peers does. A fault is a
// refusal. Errors: ErrNobody, ErrNotPermitted, ErrUnavailable.
func (s Services) Gather(ctx context.Context, subject string, body []byte, each func(answer []byte, fault *events.Fault)) error {
	m, err := s.request(ctx, subject, body)
	if err != nil {
		return err
	}
	return s.collect(ctx, m, func(reply *nats.Msg) { each(reply.Data, refusedBy(reply)) })
}

// collect sends a request and calls each for every reply.
func (s Services) collect(ctx context.Context, m *nats.Msg, each func(reply *nats.Msg)) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, stop := s.bus.denials.guard(ctx, m.Subject)
	defer stop()
	m.Reply = s.bus.nc.NewRespInbox()
	sub, err := s.bus.nc.SubscribeSync(m.Reply)
	if err != nil {
		return fmt.Errorf("ask all on %s: %w", m.Subject, class(err))
	}
	defer func() { _ = sub.Unsubscribe() }() // The connection may be closed already.
	if err := s.bus.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("ask all on %s: %w", m.Subject, class(err))
	}
	reply, err := sub.NextMsgWithContext(ctx)
	switch err = refusalIn(ctx, err); {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("ask all on %s: %w", m.Subject, ErrNobody)
	case errors.Is(err, ErrNotPermitted):
		return fmt.Errorf("ask all on %s: %w", m.Subject, err)
	case err != nil:
		return fmt.Errorf("ask all on %s: %w: %v", m.Subject, ErrUnavailable, err)
	}
	rest, enough := context.WithTimeout(ctx, linger)
	defer enough()
	for ; err == nil; reply, err = sub.NextMsgWithContext(rest) {
		each(reply)
	}
	return nil
}

// peer decodes the description of an instance; ok is false if it has another prefix.
func (s Services) peer(body []byte) (p Peer, ok bool) {
	var info struct {
		ID        string            `json:"id"`
		Metadata  map[string]string `json:"metadata"`
		Endpoints []Offer           `json:"endpoints"`
	}
	if json.Unmarshal(body, &info) != nil || info.ID == "" {
		return p, false
	}
	ours := info.Metadata[PrefixKey] == s.bus.names.Prefix() || slices.ContainsFunc(info.Endpoints, func(o Offer) bool { return strings.HasPrefix(o.Subject, s.bus.names.API("")) })
	return Peer{ID: info.ID, Metadata: info.Metadata}, ours
}
