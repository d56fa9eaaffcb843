package bus

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The errors that callers branch on. Every error of this package that they can act on wraps one of these.
var (
	// ErrConflict, ErrNotFound, ErrUnknown and ErrTooLarge are defined by the contract, so that code behind a port can
	// recognise them without importing this package.
	ErrConflict = store.ErrConflict
	ErrNotFound = store.ErrNotFound
	ErrUnknown  = store.ErrUnknown
	ErrTooLarge = store.ErrTooLarge
	// ErrFull means that a stream or the disk is full. Nothing was stored.
	ErrFull = errors.New("no room left")
	// ErrUnavailable means that the bus cannot be reached or has no leader. Nothing was stored; try again later.
	ErrUnavailable = errors.New("bus unavailable")
	// ErrSlow goes with ErrUnavailable: a server has taken the connection, and did not answer in time.
	ErrSlow = errors.New("the server is slow")
	// ErrNotPermitted means that the server rejects the credentials or the subject.
	ErrNotPermitted = store.ErrNotPermitted
	// ErrRefused means that the server rejects the message or request as it is. Nothing was stored.
	ErrRefused = errors.New("refused by the server")
	// ErrClosed means that the owner closed the connection or the subscription.
	ErrClosed = errors.New("closed")
)

// Error codes of the JetStream API on which behaviour depends.
const (
	codeNoPeers         = 10005
	codeNoCluster       = 10008
	codeMessageNotFound = 10037
	codeConsumerAbsent  = 10014
	codeStreamAbsent    = 10059
	codeResources       = 10023
	codeMemory          = 10028
	codeStorage         = 10047
	codeCreateFailed    = 10049
	codeTooLarge        = 10054
	codeWrongLast       = 10071
	codeStoreFailed     = 10077
	codeOffline         = 10118
	codeWrongLastInRace = 10164
	codeTooManyRequests = 10167
	codeOfflineReason   = 10194
)

// peerOffline is part of the description of codeNoPeers if a server that would take a replica is unreachable, or is not known yet, as in
// a cluster that has just started.
const peerOffline = "peer offline"

// refusal is an error of the JetStream API.
type refusal struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (r *refusal) class() error {
	switch r.ErrCode {
	case codeWrongLast, codeWrongLastInRace:
		return ErrConflict
	case codeMessageNotFound, codeConsumerAbsent, codeStreamAbsent:
		return ErrNotFound
	case codeTooLarge:
		return ErrTooLarge
	case codeStoreFailed, codeStorage, codeMemory, codeResources:
		return ErrFull
	case codeNoPeers:
		if !strings.Contains(r.Description, peerOffline) {
			return ErrRefused // The tags or the storage do not fit: waiting does not help.
		}
		return ErrUnavailable
	case codeNoCluster, codeOffline, codeOfflineReason, codeTooManyRequests:
		return ErrUnavailable
	}
	if r.Code == 404 {
		return ErrNotFound
	}
	return ErrRefused
}

func (r *refusal) err() error { return fmt.Errorf("%w: %s", r.class(), r.Description) }

// refusalOf returns the error in a JetStream answer, or nil.
func refusalOf(body []byte) error {
	var answer struct {
		Error *refusal `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%w: answer is no JSON: %.80q", ErrUnknown, body)
	}
	if answer.Error == nil {
		return nil
	}
	return answer.Error.err()
}

// class converts an error of the SDK into one of ours. Reads and topology calls have no unknown outcome, so a timeout is
// ErrUnavailable here; publishing classifies its own errors.
func class(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api):
		r := refusal{Code: api.Code, ErrCode: int(api.ErrorCode), Description: api.Description}
		return r.err()
	case errors.Is(err, ErrNotPermitted):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrPermissionViolation),
		errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%w: %v", ErrNotPermitted, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %v", ErrTooLarge, err)
	case errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrInvalidMsg):
		return fmt.Errorf("%w: %v", ErrRefused, err)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return fmt.Errorf("%w: connection", ErrClosed)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return fmt.Errorf("%w: reconnecting", ErrUnavailable)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("%w: no answer", ErrUnavailable)
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound),
		errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
		return fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		return fmt.Errorf("%w: %w", ErrUnavailable, untrusted)
	}
	return fmt.Errorf("%w: %v", ErrUnavailable, err)
}

// slow reports whether a server took the connection and did not answer in time.
func slow(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "read" && op.Timeout()
}
