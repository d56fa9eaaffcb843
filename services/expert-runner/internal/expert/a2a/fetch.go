package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The paths of a card below the address of an agent: since spec 0.3, and before.
const (
	cardPath    = "/.well-known/agent-card.json"
	oldCardPath = "/.well-known/agent.json"
)

// cardTime limits the fetch of a card.
const cardTime = 15 * time.Second

// card returns the agent's card. A fetched card is used for cardAge, and longer if it cannot be fetched again.
func (x *Expert) card(ctx context.Context) (*Card, error) {
	if x.given != nil {
		return x.given, nil
	}
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.turn }()
	if x.fetched != nil && time.Now().Before(x.until) {
		return x.fetched, nil
	}
	ctx, stop := context.WithTimeout(ctx, cardTime)
	defer stop()
	c, err := x.fetch(ctx)
	if err != nil && x.fetched == nil {
		return nil, err
	}
	if err == nil {
		x.fetched = c
	}
	x.until = time.Now().Add(cardAge)
	return x.fetched, nil
}

func (x *Expert) fetch(ctx context.Context) (*Card, error) {
	at, err := url.Parse(x.config.Agent)
	if err != nil {
		return nil, errors.New("the agent's address is no URL")
	}
	client := &http.Client{Transport: x.dialer, CheckRedirect: checkRedirect}
	if strings.HasSuffix(at.Path, ".json") {
		raw, status, err := get(ctx, client, at)
		return x.cardOf(at, raw, status, err)
	}
	raw, status, err := get(ctx, client, at.JoinPath(cardPath))
	if err == nil && status == http.StatusNotFound {
		raw, status, err = get(ctx, client, at.JoinPath(oldCardPath))
	}
	return x.cardOf(at, raw, status, err)
}

func (x *Expert) cardOf(at *url.URL, raw []byte, status int, err error) (*Card, error) {
	if err != nil {
		return nil, err
	}
	fault := &refusal{Code: events.CodeUnavailable, Message: fmt.Sprintf("%s answered %d %s when asked for the agent's card", at.Host, status, http.StatusText(status)), Hint: "correct agent on the card of the expert, or give the agent's card with card"}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		fault.Code, fault.Hint = events.CodeNotPermitted, "correct the headers on the card"
		return nil, fault
	case status != http.StatusOK:
		return nil, fault
	}
	raw = x.config.Secrets.Redactor().JSON(raw)
	c, err := ReadCard(raw)
	if err != nil {
		return nil, &refusal{Code: events.CodeMalformed, Message: err.Error(), Cause: clip(string(raw), maxEvidence), Hint: "see the agent's card at " + at.Host}
	}
	return c, nil
}

// get reads a page up to the size limit of a card. The error does not contain the address.
func get(ctx context.Context, client *http.Client, at *url.URL) (raw []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, 0, errors.New("the request cannot be made")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "jobgraph")
	response, err := client.Do(request)
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }() // Everything needed was read.
	raw, err = io.ReadAll(io.LimitReader(response.Body, maxCard+1))
	return raw, response.StatusCode, err
}
