package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// Endpoint answers one verb. With a fault, body is the answer for programs that need more than the fault, or nil.
type Endpoint func(ctx context.Context, request []byte) (body []byte, fault *events.Fault)

// concurrentRequests limits the requests that one Serve or Keep answers at once, ofOneVerb those of one verb, so that many slow ones hold up
// no other verb; the client library queues the others.
const concurrentRequests, ofOneVerb = 64, 48

// Services is request and reply: it serves micro services and calls them.
type Services struct{ bus *Bus }

// Serve answers requests on jobs.api.<verb> as a NATS micro service, many at once; several processes share them. A version not of
// the form v1.2.3 is announced as 0.0.0-dev. Peers returns the metadata; describe returns that of each endpoint and may be nil.
// stop waits until every accepted request is answered; then the context of the endpoints ends.
func (s Services) Serve(name, version string, metadata map[string]string, endpoints map[string]Endpoint, describe func(verb string) map[string]string) (stop func(), err error) {
	return s.serve(micro.Config{Name: name, Version: version, Metadata: metadata}, endpoints, describe)
}

// ServeEach is like Serve, for endpoints that each process answers for itself: a request gets one answer from each
// process, see Gather.
func (s Services) ServeEach(name, version string, metadata map[string]string, endpoints map[string]Endpoint, describe func(verb string) map[string]string) (stop func(), err error) {
	return s.serve(micro.Config{Name: name, Version: version, Metadata: metadata, QueueGroupDisabled: true}, endpoints, describe)
}

func (s Services) serve(c micro.Config, endpoints map[string]Endpoint, describe func(verb string) map[string]string) (stop func(), err error) {
	name := c.Name
	c.Version, c.Description = microVersion(c.Version), "Jobgraph "+name
	service, err := micro.AddService(s.bus.nc, c)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", name, class(err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	accepted := newRequests()
	for verb, endpoint := range endpoints {
		own := make(chan struct{}, ofOneVerb)
		handler := micro.HandlerFunc(func(r micro.Request) {
			accepted.takeOf(own, func() { s.respond(ctx, r, endpoint) }, func() { s.respond(ctx, r, stopped) })
		})
		options := []micro.EndpointOpt{micro.WithEndpointSubject(s.bus.names.API(verb))}
		if describe != nil {
			options = append(options, micro.WithEndpointMetadata(describe(verb)))
		}
		if err := service.AddEndpoint(endpointName(verb), handler, options...); err != nil {
			cancel()
			_ = service.Stop() // The endpoint's error says more.
			return nil, fmt.Errorf("serve %s: %w", verb, class(err))
		}
	}
	return func() {
		if err := service.Stop(); err != nil {
			s.bus.logger.Debug("service did not stop cleanly", "service", name, "error", err)
		}
		_ = s.bus.nc.Flush() // After this, all that the server sent has arrived; without a connection nothing comes.
		accepted.close()
		cancel()
	}, nil
}

// requests counts the requests that are being answered. Stopping a service only begins to drain its subscriptions, so requests may come
// while close waits and after it, which a sync.WaitGroup does not allow.
type requests struct {
	slots  chan struct{}
	mu     sync.Mutex
	idle   sync.Cond // Signalled when n becomes 0; its lock is mu.
	n      int
	closed bool
}

func newRequests() *requests {
	q := &requests{slots: make(chan struct{}, concurrentRequests)}
	q.idle.L = &q.mu
	return q
}

// take answers a request concurrently with others, or calls late for one that came after close. It waits while too many
// are being answered.
func (q *requests) take(answer, late func()) { q.takeOf(make(chan struct{}, 1), answer, late) }

// takeOf is take for one of the requests that share the places of a verb. It waits while too many of them are being answered.
func (q *requests) takeOf(own chan struct{}, answer, late func()) {
	if !q.begin() {
		late()
		return
	}
	own <- struct{}{}
	q.slots <- struct{}{}
	go func() { // Ends with the request, for which close waits.
		defer q.end()
		defer func() {
			<-q.slots
			<-own
		}()
		answer()
	}()
}

// begin reports whether a request may be answered; if so, end follows.
func (q *requests) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.n++
	}
	return !q.closed
}

func (q *requests) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n--; q.n == 0 {
		q.idle.Broadcast()
	}
}

// close waits until all requests are answered; begin then accepts none.
func (q *requests) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n > 0 {
		q.idle.Wait()
	}
	q.closed = true
}

// stopped answers a request that came too late for this process.
func stopped(context.Context, []byte) ([]byte, *events.Fault) {
	return nil, &events.Fault{Code: events.CodeUnavailable, Message: "the service has just stopped", Hint: "ask again: another process answers, or this one when it is back"}
}

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// microVersion converts a module version to the form that micro services require.
func microVersion(version string) string {
	if version = strings.TrimPrefix(version, "v"); semantic.MatchString(version) {
		return version
	}
	return "0.0.0-dev"
}

func endpointName(verb string) string { return strings.ReplaceAll(verb, ".", "-") }

// respond answers one request. A panic becomes a fault of that request alone.
func (s Services) respond(ctx context.Context, r micro.Request, endpoint Endpoint) {
	body, fault := s.guarded(ctx, r, endpoint)
	// The SDK's Respond and Error write into the request, which its service reads as soon as the handler has returned, so
	// an answer that comes later must bypass them.
	reply := &nats.Msg{Subject: r.Reply()}
	if reply.Subject == "" {
		return // No caller waits for an answer.
	}
	if !s.bus.mayAnswer(reply.Subject) {
		s.bus.logger.Warn("refused to answer on a subject of our own", "subject", r.Subject(), "reply", reply.Subject)
		return
	}
	switch {
	case fault == nil && int64(len(body)) > s.bus.nc.MaxPayload():
		fault = &events.Fault{
			Code: events.CodeTooLarge, Message: fmt.Sprintf("the answer has %d bytes, more than a message may", len(body)),
			Hint: "ask for less, or read the stream or the bucket itself",
		}
		body = nil
		fallthrough
	case fault != nil:
		if body == nil {
			body, _ = json.Marshal(fault) // Cannot fail: a fault consists of strings and a reference.
		}
		reply.Header = nats.Header{micro.ErrorHeader: {oneLine(fault.Error())}, micro.ErrorCodeHeader: {string(fault.Code)}}
	}
	reply.Data = body
	if err := s.bus.nc.PublishMsg(reply); err != nil {
		s.bus.logger.Warn("cannot answer request", "subject", r.Subject(), "error", err)
	}
}

// mayAnswer reports whether a subject is one for answers: a caller must not have a service write into a stream or to the
// server.
func (b *Bus) mayAnswer(reply string) bool {
	return !strings.HasPrefix(reply, "$") && !strings.HasPrefix(reply, b.names.Prefix()+".")
}

func (s Services) guarded(ctx context.Context, r micro.Request, endpoint Endpoint) (body []byte, fault *events.Fault) {
	defer func() {
		if cause := recover(); cause != nil {
			s.bus.logger.Error("endpoint panicked", "subject", r.Subject(), "cause", cause)
			body, fault = nil, &events.Fault{Code: events.CodeInternal, Message: "the service failed because of a bug in it", Cause: fmt.Sprint(cause)}
		}
	}()
	if trace := r.Headers().Get(events.HeaderTrace); trace != "" {
		ctx = context.WithValue(ctx, traceKey{}, trace)
	}
	ctx = context.WithValue(ctx, requestKey{}, &arrived{events.Message{Subject: r.Subject(), Header: map[string][]string(r.Headers()), Body: r.Data()}, time.Now()})
	return endpoint(WithZone(ctx, r.Headers().Get(events.HeaderZone)), r.Data())
}

type zoneKey struct{}

// WithZone returns a context whose requests carry the time zone of the caller, an IANA name; "" changes nothing.
func WithZone(ctx context.Context, zone string) context.Context {
	if zone == "" {
		return ctx
	}
	return context.WithValue(ctx, zoneKey{}, zone)
}

// ZoneOf returns the time zone that WithZone has set, or that the request of an Endpoint carries, or "".
func ZoneOf(ctx context.Context) string {
	zone, _ := ctx.Value(zoneKey{}).(string)
	return zone
}

type rightsKey struct{}

// WithRights returns a context whose requests have at most these of the rights of the connection's key, which are the roles of package verb: a
// program that asks for someone asks with their rights. The signature covers them. Services of earlier releases do not notice them.
func WithRights(ctx context.Context, rights ...string) context.Context {
	return context.WithValue(ctx, rightsKey{}, rights)
}

// RequestHeader returns the headers of a request on jobs.request or jobs.api: the time zone and the rights that ctx carries.
func RequestHeader(ctx context.Context) map[string][]string {
	header := map[string][]string{}
	if zone := ZoneOf(ctx); zone != "" {
		header[events.HeaderZone] = []string{zone}
	}
	if rights, ok := ctx.Value(rightsKey{}).([]string); ok {
		seal.Narrow(header, rights)
	}
	return header
}

type traceKey struct{}

// TraceOf returns the traceparent of the request that an Endpoint answers, or "".
func TraceOf(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

type requestKey struct{}

// arrived is a request that an Endpoint answers, and when it came.
type arrived struct {
	message events.Message
	at      time.Time
}

// Signer returns who has signed the request that an Endpoint answers with ctx, with the rights that WithRights has left it. asked is false if
// this process has no list of signers and the request has all rights, or if ctx is not that of a request. Errors: *events.Fault for a request without a signature that counts.
func (s Services) Signer(ctx context.Context) (who *seal.Signer, asked bool, err error) {
	r, ok := ctx.Value(requestKey{}).(*arrived)
	if !ok {
		return nil, false, nil
	}
	return s.bus.sealing.signer(&r.message, r.at)
}

// Answer makes the answer of an Endpoint: a value as JSON, or an error in the one form of faults. Several faults are returned as the first
// one, with a rejection as the body that lists all and has the id of the job, if there is one. Errors: any err that is not a fault, and
// those of encoding a value that JSON cannot express.
func Answer(job string, value any, err error) (body []byte, fault *events.Fault, _ error) {
	var faults events.Faults
	switch {
	case err == nil:
		body, err = json.Marshal(value)
		return body, nil, err
	case errors.As(err, &faults) && len(faults) > 0:
		body, err = json.Marshal(events.Rejection{JobID: job, Faults: faults})
		return body, &faults[0], err
	case errors.As(err, &fault):
		return nil, fault, nil
	}
	return nil, nil, err
}

// oneLine converts a text to a form that fits into a header.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 512 {
		text = strings.ToValidUTF8(text[:512], "")
	}
	if text == "" {
		return "error"
	}
	return text
}

// Request calls a service and waits for the answer. A fault is the service's refusal; body is what came with it. Errors:
// ErrUnavailable if no answer came, with ErrNobody if the request reached no service, the context's.
func (s Services) Request(ctx context.Context, subject string, body []byte) (answer []byte, fault *events.Fault, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m, err := s.request(ctx, subject, body)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := s.bus.denials.guard(ctx, subject)
	defer stop()
	reply, err := s.bus.nc.RequestMsgWithContext(ctx, m)
	if err = refusalIn(ctx, err); err != nil {
		if ctx.Err() != nil && !errors.Is(err, ErrNotPermitted) {
			return nil, nil, fmt.Errorf("request %s: %w: %w", subject, ErrUnavailable, ctx.Err())
		}
		if errors.Is(err, nats.ErrNoResponders) {
			return nil, nil, fmt.Errorf("request %s: %w: %w", subject, ErrUnavailable, ErrNobody)
		}
		return nil, nil, fmt.Errorf("request %s: %w", subject, class(err))
	}
	return reply.Data, refusedBy(reply), nil
}

// request returns a signed request with the headers of the caller.
func (s Services) request(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	m := &nats.Msg{Subject: subject, Header: RequestHeader(ctx), Data: body}
	return m, s.bus.sealing.seal(s.bus.names, &events.Message{Subject: subject, Header: m.Header, Body: body})
}

// refusedBy returns the fault in a reply; nil for an answer.
func refusedBy(reply *nats.Msg) *events.Fault {
	code := reply.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return nil
	}
	fault := &events.Fault{}
	if json.Unmarshal(reply.Data, fault) != nil || fault.Message == "" {
		fault = &events.Fault{Code: events.Code(code), Message: reply.Header.Get(micro.ErrorHeader)}
	}
	return fault
}
