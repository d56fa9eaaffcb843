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
)

// Peer is an instance of a micro service, as it describes itself.
type Peer struct {
	// ID tells instances apart.
	ID string
	// Metadata is what it says of itself.
	Metadata map[string]string
}

// linger is how long behind the first answer others are waited for: the number of instances and their distance are unknown.
const linger = 250 * time.Millisecond

// Peers asks all instances of a micro service under this prefix who they are, and calls each for every answer, until some time behind the
// first, or until ctx ends. Errors: ErrNobody, ErrUnavailable.
func (s Services) Peers(ctx context.Context, service string, each func(Peer)) error {
	subject, err := micro.ControlSubject(micro.InfoVerb, service, "")
	if err != nil {
		return fmt.Errorf("ask for service %s: %w: %v", service, ErrRefused, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	inbox := s.bus.nc.NewRespInbox()
	sub, err := s.bus.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("ask for service %s: %w", service, class(err))
	}
	defer func() { _ = sub.Unsubscribe() }() // The connection may be closed.
	if err := s.bus.nc.PublishRequest(subject, inbox, nil); err != nil {
		return fmt.Errorf("ask for service %s: %w", service, class(err))
	}
	m, err := sub.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("ask for service %s: %w", service, ErrNobody)
	case err != nil:
		return fmt.Errorf("ask for service %s: %w: %v", service, ErrUnavailable, err)
	}
	rest, enough := context.WithTimeout(ctx, linger)
	defer enough()
	for ; err == nil; m, err = sub.NextMsgWithContext(rest) {
		if p, ok := s.peer(m.Data); ok {
			each(p)
		}
	}
	return nil
}

// peer reads how an instance describes itself; ok is false for one of another prefix.
func (s Services) peer(body []byte) (p Peer, ok bool) {
	var info struct {
		ID        string            `json:"id"`
		Metadata  map[string]string `json:"metadata"`
		Endpoints []Offer           `json:"endpoints"`
	}
	if json.Unmarshal(body, &info) != nil || info.ID == "" {
		return p, false
	}
	ours := slices.ContainsFunc(info.Endpoints, func(o Offer) bool { return strings.HasPrefix(o.Subject, s.bus.names.API("")) })
	return Peer{ID: info.ID, Metadata: info.Metadata}, ours
}
