package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// Mount serves another protocol at a path, behind the same checks as a route: origin, user, rate and size. Each message of a JSON-RPC
// batch counts as a request. Its plain-text refusals are sent as problems. Requests may take as long as they need; a reader that takes
// nothing is disconnected, and so is a request whose token is no longer valid: it may wait for ever, for events or for what a person says.
func (g *Gateway) Mount(path string, serve func(http.ResponseWriter, *http.Request, identity.Identity) *events.Fault) {
	g.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		asking, fault := g.admit(w, r, nil)
		if fault == nil {
			fault = g.take(w, r, asking)
		}
		if fault != nil {
			refuse(w, r, fault)
			return
		}
		to := http.NewResponseController(w)
		if err := to.SetReadDeadline(time.Time{}); err != nil {
			refuse(w, r, &events.Fault{Code: events.CodeInternal, Message: "the connection cannot be kept open", Cause: err.Error()})
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go g.revoke(ctx, asking, func() {
			if r.Method != http.MethodGet { // A call that waits says by itself why it ends.
				select {
				case <-time.After(g.Beat):
				case <-ctx.Done():
				}
			}
			cancel()
		})
		p := &plainly{ResponseWriter: paced{w, to, g.Write}, under: w}
		if fault := serve(p, r.WithContext(ctx), asking); fault != nil {
			refuse(w, r, fault)
			return
		}
		p.finish(r)
	})
}

// revoke ends a request when its token is no longer valid.
func (g *Gateway) revoke(ctx context.Context, asking identity.Identity, end func()) {
	beat := time.NewTicker(g.Beat)
	defer beat.Stop()
	for g.Guard.Keeper.Valid(asking) {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
	end()
}

// take reads the body of a request within the limits, so that the handler gets it as a whole.
func (g *Gateway) take(w http.ResponseWriter, r *http.Request, asking identity.Identity) *events.Fault {
	body, fault := readBody(w, r, g.Body)
	if fault != nil {
		return fault
	}
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) == nil && len(batch) > 1 && !g.limits.Allow(asking.User, len(batch)-1) { // The request itself was counted.
		w.Header().Set("Retry-After", "1")
		return tooOften(asking)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// readBody reads the body of a request, text of at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *events.Fault) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(large)
	case err != nil:
		return nil, cutShort(err)
	case !utf8.Valid(body):
		return nil, broken("body")
	}
	return body, nil
}

func tooLarge(e *http.MaxBytesError) *events.Fault {
	return &events.Fault{Code: events.CodeTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", e.Limit), Hint: "send less, or raise --max-body (JOBGRAPH_MAX_BODY)"}
}

func cutShort(err error) *events.Fault {
	return &events.Fault{Code: events.CodeMalformed, Message: "the body ended early or came too slowly", Cause: err.Error(), Hint: "send it again"}
}

// plainly is a response that turns plain-text refusals into problems.
type plainly struct {
	http.ResponseWriter
	under  http.ResponseWriter
	status int // The status of a plain-text refusal; 0 otherwise.
	text   bytes.Buffer
}

// Unwrap serves http.ResponseController.
func (p *plainly) Unwrap() http.ResponseWriter { return p.under }

// WriteHeader implements http.ResponseWriter.
func (p *plainly) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(p.Header().Get("Content-Type"), "text/plain") {
		p.status = status
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (p *plainly) Write(b []byte) (int, error) {
	if p.status == 0 {
		return p.ResponseWriter.Write(b)
	}
	const most = 1024
	p.text.Write(b[:min(len(b), max(0, most-p.text.Len()))])
	return len(b), nil
}

// plainCodes maps statuses of plain-text refusals to codes.
var plainCodes = map[int]events.Code{
	http.StatusForbidden: events.CodeNotPermitted, http.StatusNotFound: events.CodeNotFound, http.StatusRequestEntityTooLarge: events.CodeTooLarge,
	http.StatusMethodNotAllowed: events.CodeInvalid, http.StatusConflict: events.CodeConflict, http.StatusInternalServerError: events.CodeInternal,
}

// finish sends a plain-text refusal as a problem; any other answer has been passed on already.
func (p *plainly) finish(r *http.Request) {
	if p.status == 0 {
		return
	}
	code, ok := plainCodes[p.status]
	if !ok {
		code = events.CodeMalformed
	}
	hint := "docs/mcp.md says how clients connect"
	switch p.status {
	case http.StatusNotFound:
		hint = "the session has ended with its gateway: initialize a new one; jobs go on, wait for them by their ids"
	case http.StatusForbidden:
		hint = "a session is for the user who began it, by tokens with the same roles; with others, or other roles, initialize a new one"
	}
	refuseAs(p.under, r, p.status, &events.Fault{Code: code, Message: strings.ToValidUTF8(strings.TrimSpace(p.text.String()), "?"), Hint: hint})
}
