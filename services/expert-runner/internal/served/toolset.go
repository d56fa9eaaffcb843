package served

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Limits of what a service may declare about itself.
const (
	maxOffers      = 512
	maxSchema      = 64 << 10
	maxDescription = 4 << 10
)

// between separates the names of service and endpoint.
const between = "__"

// keyHeader carries the idempotency key of a call.
const keyHeader = "Idempotency-Key"

// cancelEnd is the suffix of the subject that tells a tool to cancel a call.
const cancelEnd = ".cancel"

// Reasons of a cancelled call, as sent to the tool.
const (
	reasonTimeout   = "timeout"
	reasonCancelled = "cancelled"
)

// Asker asks the listeners of a subject of the bus, or sends them a message without an answer.
type Asker interface {
	Ask(ctx context.Context, subject string, header map[string][]string, body []byte) (answer []byte, fault *events.Fault, err error)
	PublishCore(subject string, header map[string][]string, body []byte) error
	Offers(ctx context.Context, service string) ([]bus.Offer, error)
}

// OnBus returns the Asker of a bus.
func OnBus(b *bus.Bus) Asker { return onBus{b.Services(), b} }

type onBus struct {
	bus.Services
	bus *bus.Bus
}

// PublishCore sends a message that no stream stores.
func (o onBus) PublishCore(subject string, header map[string][]string, body []byte) error {
	return o.bus.PublishCore(subject, header, body)
}

// Toolset is every tool of a configuration. It may be used by any number of goroutines once it has its bus.
type Toolset struct {
	tools map[string]Tool
	bus   Asker
}

// New makes a toolset. The configuration has no Faults.
func New(tools map[string]Tool) *Toolset { return &Toolset{tools: tools} }

// Attach gives the toolset its bus, before any tool is opened. A toolset that has one keeps it.
func (s *Toolset) Attach(b Asker) {
	if s.bus == nil { // Until it is set, no other goroutine uses the toolset.
		s.bus = b
	}
}

// of returns the entry that a pattern names, or "".
func (s *Toolset) of(pattern string) string {
	if t, there := s.tools[pattern]; there && t.Subject != "" {
		return pattern
	}
	found := ""
	for name, t := range s.tools { // any order: the longest name wins, and matching names differ in length.
		if t.Service != "" && strings.HasPrefix(pattern, name+between) && len(name) > len(found) {
			found = name
		}
	}
	return found
}

// Owns reports whether a name, or a pattern of names, is about a tool of the toolset.
func (s *Toolset) Owns(pattern string) bool { return s.of(pattern) != "" }

// Open returns the tools that names and patterns match. Errors are *events.Fault, or the context's.
func (s *Toolset) Open(ctx context.Context, patterns []string) ([]tool.Tool, error) {
	found := map[string]tool.Tool{}
	for _, pattern := range patterns {
		name := s.of(pattern)
		t := s.tools[name]
		if t.Subject != "" {
			args, _ := t.schema() // Checked before.
			found[name] = s.tool(tool.Tool{Name: name, Description: t.Description, Schema: args, Once: !t.Idempotent}, &t)
			continue
		}
		offered, err := s.offered(ctx, name, &t)
		if err != nil {
			return nil, err
		}
		matched := false
		for i := range offered {
			if policy.Matches(pattern, offered[i].Name) {
				found[offered[i].Name], matched = offered[i], true
			}
		}
		if !matched {
			return nil, &events.Fault{Code: events.CodeNotFound, Field: "tools", Message: fmt.Sprintf("service %s has no endpoint for the tool %q", t.Service, pattern)}
		}
	}
	var tools []tool.Tool
	for _, name := range slices.Sorted(maps.Keys(found)) {
		tools = append(tools, found[name])
	}
	return tools, nil
}

// offered asks a service for its endpoints, and makes a tool of each.
func (s *Toolset) offered(ctx context.Context, name string, t *Tool) ([]tool.Tool, error) {
	away := func(code events.Code, cause, hint string) error {
		return &events.Fault{Code: code, Message: "service " + t.Service + " cannot be used", Cause: cause, Hint: hint}
	}
	offers, err := s.bus.Offers(ctx, t.Service)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, away(events.CodeUnavailable, err.Error(), "start the service, or take it out of tools."+name)
	case len(offers) > maxOffers:
		return nil, away(events.CodeTooLarge, fmt.Sprintf("it has more than %d endpoints", maxOffers), "")
	}
	var list []tool.Tool
	for i := range offers {
		o := &offers[i]
		one := tool.Tool{
			Name: name + between + o.Name, Description: o.Metadata["description"], Schema: json.RawMessage(cmp.Or(o.Metadata["schema"], anything)),
			Once: o.Metadata["idempotent"] != "true",
		}
		_, wrong := schema.Read(one.Schema)
		if !named.MatchString(one.Name) || !literal(o.Subject) || wrong != nil || len(one.Schema) > maxSchema || len(one.Description) > maxDescription {
			return nil, away(events.CodeInvalid, fmt.Sprintf("endpoint %.80q does not describe itself as a tool", o.Name), "see docs/tools.md")
		}
		said, err := json.Marshal(o) // Maps are encoded in order.
		if err != nil {
			return nil, away(events.CodeInvalid, err.Error(), "")
		}
		sum := sha256.Sum256(said)
		one.Digest = "sha256:" + hex.EncodeToString(sum[:])
		list = append(list, s.tool(one, &Tool{Subject: o.Subject, Timeout: t.Timeout, Cancel: o.Metadata["cancel"] == "true"}))
	}
	return list, nil
}

// tool makes a tool that calls the subject of an entry.
func (s *Toolset) tool(t tool.Tool, of *Tool) tool.Tool {
	subject, timeout := of.Subject, cmp.Or(of.Timeout, DefaultTimeout)
	t.Call = func(ctx context.Context, c tool.Call) (string, error) {
		limited, stop := context.WithTimeout(ctx, timeout)
		defer stop()
		header := map[string][]string{keyHeader: {c.Key}}
		answer, fault, err := s.bus.Ask(limited, subject, header, []byte(cmp.Or(c.Args, "{}")))
		switch {
		case err == nil && fault == nil:
			return words(answer), nil
		case err == nil:
			return "", fault
		case errors.Is(err, bus.ErrNobody):
			return "", fmt.Errorf("no service offers the tool on %s", subject)
		case !errors.Is(err, bus.ErrUnknown):
			return "", err
		}
		late := ctx.Err() == nil && limited.Err() != nil
		if of.Cancel && limited.Err() != nil {
			s.cancel(subject, header, late)
		}
		if late {
			return "", fmt.Errorf("%s has not answered within %s: %w", subject, timeout, expert.ErrUnknown)
		}
		return "", fmt.Errorf("%w: %w", err, expert.ErrUnknown)
	}
	return t
}

// cancel tells a tool to cancel a call. It is best effort: the outcome of the call is unknown either way.
func (s *Toolset) cancel(subject string, header map[string][]string, late bool) {
	reason := reasonCancelled
	if late {
		reason = reasonTimeout
	}
	_ = s.bus.PublishCore(subject+cancelEnd, header, []byte(`{"reason":"`+reason+`"}`)) // Best effort.
}

// words returns an answer as text: a JSON string without its quotes, anything else unchanged.
func words(answer []byte) string {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return text
	}
	return strings.ToValidUTF8(string(answer), "�")
}
