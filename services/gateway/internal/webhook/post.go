package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/egress"
)

// postTime limits one attempt. It is shorter than the time after which the bus gives the event to another gateway.
const postTime = 15 * time.Second

// Stop is how long Run may take after its context has ended.
const Stop = postTime + busPause

// mostAnswer is how much of an answer is read, in bytes, so that its connection can be reused.
const mostAnswer = 64 << 10

// poster sends the notices of one target.
type poster struct {
	target  *Target
	signers []*webhooks.Webhook
	client  *http.Client
	agent   string
}

// newPoster returns a poster whose connections are all checked by a guard, and which follows no redirect.
func newPoster(t *Target, agent string, transport http.RoundTripper) (*poster, error) {
	signers, err := t.signers()
	if err != nil {
		return nil, err
	}
	allow, err := egress.Ranges(t.AllowAddresses)
	if err != nil {
		return nil, err
	}
	if transport == nil {
		guard := egress.Guard{Allow: allow}
		dialer := &net.Dialer{Timeout: postTime, Control: guard.Control}
		transport = &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: postTime, MaxResponseHeaderBytes: 64 << 10, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			ForceAttemptHTTP2: true,
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &poster{target: t, signers: signers, agent: agent, client: &http.Client{Transport: transport, CheckRedirect: stay}}, nil
}

// refusal is the answer of a target that does not accept a notice.
type refusal struct {
	status string
	gone   bool          // The target will not accept any more.
	after  time.Duration // The delay that the target asks for; 0 if it does not say.
}

// Error implements error.
func (r *refusal) Error() string { return "it answered " + r.status }

// post makes one attempt. Errors: a refusal, those of the connection.
func (p *poster) post(ctx context.Context, n bus.Notice) error {
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.URL, bytes.NewReader(n.Body))
	if err != nil {
		return err
	}
	now := time.Now()
	signatures := make([]string, len(p.signers))
	for i, signer := range p.signers {
		if signatures[i], err = signer.Sign(n.ID, now, n.Body); err != nil {
			return fmt.Errorf("sign: %w", err)
		}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": p.agent, webhooks.HeaderWebhookID: n.ID,
		webhooks.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10), webhooks.HeaderWebhookSignature: strings.Join(signatures, " "),
	} {
		request.Header.Set(name, value)
	}
	answer, err := p.client.Do(request)
	var whole *url.Error
	if errors.As(err, &whole) {
		return whole.Err // The address of a webhook often contains a secret.
	}
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()                          // What matters has been read.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) // Only the status matters.
	if answer.StatusCode/100 == 2 {
		return nil
	}
	r := &refusal{status: answer.Status, gone: answer.StatusCode == http.StatusGone}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.after = time.Duration(min(seconds, int(longestDelay/time.Second))) * time.Second
	}
	return r
}
