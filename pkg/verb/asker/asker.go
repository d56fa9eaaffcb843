package asker

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

type key struct{}

// With returns a context that carries the signer of a request.
func With(ctx context.Context, who *seal.Signer) context.Context {
	return context.WithValue(ctx, key{}, who)
}

// Of returns the signer of the current request; nil if signatures are not required.
func Of(ctx context.Context) *seal.Signer {
	who, _ := ctx.Value(key{}).(*seal.Signer)
	return who
}

// Stranger returns the signer of unsigned requests: everyone who may send requests may submit a job, without a user.
func Stranger() *seal.Signer { return &seal.Signer{Name: "an unsigned request"} }

// Signatures finds the signer of the current request; asked is false if signatures are not required.
type Signatures interface {
	Signer(ctx context.Context) (who *seal.Signer, asked bool, err error)
}

// Checked restricts a verb that changes something to keys with the right to it, and to users for whom the key may ask. Where
// signatures are not required, everyone may ask for every user.
func Checked[T any](name string, s Signatures, answer func(ctx context.Context, body []byte) (T, error)) func(ctx context.Context, body []byte) (T, error) {
	row, _ := verb.Find(name) // A verb that is not in the table is for admins alone.
	if row.Effect == verb.Read {
		return answer
	}
	return func(ctx context.Context, body []byte) (T, error) {
		who, asked, err := s.Signer(ctx)
		if !asked {
			return answer(ctx, body)
		}
		if err == nil {
			body, err = stamped(&row, who, body)
		}
		if err != nil {
			var none T
			return none, err
		}
		return answer(With(ctx, who), body)
	}
}

// stamped checks a request against its signer, and sets the user.
func stamped(row *verb.Verb, who *seal.Signer, body []byte) ([]byte, error) {
	if !row.MayUse(Rights(who)) {
		return nil, &events.Fault{Code: events.CodeNotPermitted, Field: "signature", Message: who.Name + " may not use " + row.Name, Hint: "it takes a key with the right " + row.Needs()}
	}
	if text := bytes.TrimSpace(body); events.ValidToken(string(text)) {
		body = []byte(`{"id":"` + string(text) + `"}`)
	}
	fields := map[string]json.RawMessage{}
	if text := bytes.TrimSpace(body); len(text) > 0 {
		if err := json.Unmarshal(text, &fields); err != nil { // A verb that reads only its beginning would find an unchecked user in it.
			return nil, &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: plainjson.Misfit(err), Hint: `send one JSON object, {"id":"…"} at least`}
		}
	}
	for _, field := range row.By {
		given, err := take(fields, field)
		if err != nil {
			return nil, err
		}
		user, err := who.Named(given)
		if err != nil {
			return nil, err
		}
		if user != "" {
			fields[field], _ = json.Marshal(user) // A string is always valid JSON.
		}
	}
	return json.Marshal(fields)
}

// take removes a field in every spelling that JSON decoding accepts, and returns its text. With two spellings it would be unclear which counts.
func take(fields map[string]json.RawMessage, field string) (value string, err error) {
	found := false
	for name, text := range fields { // any order: a second spelling is refused.
		if !strings.EqualFold(name, field) {
			continue
		}
		if found {
			return "", &events.Fault{Code: events.CodeMalformed, Field: field, Message: "the request has the field " + field + " in two spellings", Hint: "write it once, in lower case"}
		}
		found = true
		if json.Unmarshal(text, &value) != nil {
			value = string(text)
		}
		delete(fields, name)
	}
	return value, nil
}

// Rights returns the roles of a signer for its requests.
func Rights(who *seal.Signer) []verb.Role {
	list := make([]verb.Role, len(who.Rights))
	for i, right := range who.Rights {
		list[i] = verb.Role(right)
	}
	return list
}
