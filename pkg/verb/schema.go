package verb

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"reflect"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

//go:embed schemas.json
var schemas []byte

// own finds the schemas that the contract does not have.
var own = plainjson.Members(schemas)

// Types maps the names of schemas to the types that they are generated from.
func Types() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, v := range All() {
		for name, of := range map[string]any{v.InputSchema(): v.Input, v.OutputSchema(): v.Output} {
			if name != "" && !known(name) {
				types[name] = reflect.TypeOf(of)
			}
		}
	}
	types["Notice"] = reflect.TypeFor[Notice]()
	for name, of := range streams() {
		types[name] = reflect.TypeOf(of)
	}
	return types
}

// streams returns the event types of streams that are not also the output of a verb.
func streams() map[string]any {
	return map[string]any{"Event": Event{}, "LiveItem": LiveItem{}, "Entry": item.Entry{}, "ResponseEvent": ResponseEvent{}}
}

// known reports whether the contract has a schema with that name.
func known(name string) bool {
	_, ok := events.Schema(name)
	return ok
}

// Schema returns the JSON Schema of an input or output, or one of the contract, by its name.
func Schema(name string) (text []byte, ok bool) {
	if text, ok := events.Schema(name); ok {
		return text, true
	}
	return own(name)
}

// InputSchema names the schema of the input, "" for none.
func (v *Verb) InputSchema() string { return nameOf(v.Input) }

// OutputSchema names the schema of the output, "" for none.
func (v *Verb) OutputSchema() string { return nameOf(v.Output) }

// nameOf names the schema of a type: types of the contract keep their name there, ours are named after the type.
func nameOf(of any) string {
	switch of.(type) {
	case nil:
		return ""
	case events.Request:
		return "request"
	case events.Card:
		return "card"
	}
	return reflect.TypeOf(of).Name()
}

// compact removes white space; text is JSON.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
