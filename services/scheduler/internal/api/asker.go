package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// handler answers a verb.
type handler = func(ctx context.Context, body []byte) (any, error)

// signed restricts a verb that changes something to keys whose signatures count, in the name of a user of the key. Without a list
// of signers, everyone may ask in every name.
func (v *API) signed(name string, answer handler) handler {
	row, ok := verb.Find(name)
	if !ok || row.Effect == verb.Read {
		return answer
	}
	return func(ctx context.Context, body []byte) (any, error) {
		who, asked, err := v.bus.Services().Signer(ctx)
		if !asked {
			return answer(ctx, body)
		}
		if name == "submit" { // Admission reads the user, which has aliases.
			if errors.Is(err, seal.ErrNone) {
				who, err = intake.Stranger(), nil
			}
		} else if err == nil {
			body, err = stamped(&row, who, body)
		}
		if err != nil {
			return nil, err
		}
		return answer(intake.WithAsker(ctx, who), body)
	}
}

// stamped checks a request against its signer, and sets the user.
func stamped(row *verb.Verb, who *seal.Signer, body []byte) ([]byte, error) {
	if !row.Permits(rights(who)) && !row.MayOwn(rights(who)) {
		return nil, &events.Fault{Code: events.CodeNotPermitted, Field: "signature", Message: who.Name + " may not use " + row.Name, Hint: "it takes a key with the right " + row.Needs()}
	}
	if text := bytes.TrimSpace(body); events.ValidToken(string(text)) {
		body = []byte(`{"id":"` + string(text) + `"}`)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body, nil // The verb will say what is wrong with it.
	}
	for _, field := range row.By {
		user, err := who.Named(take(fields, field))
		if err != nil {
			return nil, err
		}
		if user != "" {
			fields[field], _ = json.Marshal(user) // A string can always be encoded.
		}
	}
	return json.Marshal(fields)
}

// take removes a field in every spelling that JSON decoding accepts, and returns its text.
func take(fields map[string]json.RawMessage, field string) (value string) {
	for name, text := range fields { // any order: with two spellings either user must be permitted, and only one is set.
		if strings.EqualFold(name, field) {
			if json.Unmarshal(text, &value) != nil {
				value = string(text)
			}
			delete(fields, name)
		}
	}
	return value
}

func rights(who *seal.Signer) []verb.Role {
	list := make([]verb.Role, len(who.Rights))
	for i, right := range who.Rights {
		list[i] = verb.Role(right)
	}
	return list
}

// mayEnd returns why the asker may not end a job: without the right operator, they may end only their own.
func (v *API) mayEnd(ctx context.Context, name, id string) error {
	who := intake.Asker(ctx)
	row, _ := verb.Find(name)
	if who == nil || row.Permits(rights(who)) {
		return nil
	}
	if err := validID(id); err != nil {
		return err
	}
	e, err := v.bus.Log().LastOf(ctx, id, events.KindJobRequested)
	if err != nil {
		return err
	}
	mine, err := who.Named("")
	if first, ok := e.Data.(*events.JobRequested); err == nil && ok && first.Request.User == mine {
		return nil
	}
	return &events.Fault{Code: events.CodeNotPermitted, Field: "id", Message: fmt.Sprintf("%s may %s only its own jobs", who.Name, name), Hint: "it takes a key with the right " + row.Needs()}
}

// mayApprove returns why the asker may not answer a question: one that permits an action needs an approver.
func mayApprove(ctx context.Context, kind events.InputKind) error {
	who := intake.Asker(ctx)
	if who == nil || kind != events.InputApproval && kind != events.InputUnknown {
		return nil
	}
	if slices.Contains(who.Rights, string(verb.Approver)) || slices.Contains(who.Rights, string(verb.Admin)) {
		return nil
	}
	return &events.Fault{Code: events.CodeNotPermitted, Field: "request", Message: who.Name + " may not approve actions", Hint: "it takes a key with the right approver"}
}
