package verb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

type object = map[string]any

// shape is an object of AsyncAPI 3.0 as specified: the fields that it may have, with the shape of each. A field with "!" is
// required. The shapes "text", "any", "schema" and "texts" are values; "[]X" is a list and "{}X" a map of X; "@X" is a reference to
// X.
var shapes = map[string]map[string]string{
	"document":   {"asyncapi!": "text", "info!": "info", "defaultContentType": "text", "servers": "{}server", "channels": "{}channel", "operations": "{}operation", "components": "components"},
	"info":       {"title!": "text", "version!": "text", "description": "text"},
	"server":     {"host!": "text", "protocol!": "text", "description": "text"},
	"channel":    {"address!": "any", "title": "text", "description": "text", "messages": "{}@message", "parameters": "{}parameter", "servers": "[]@server"},
	"parameter":  {"description!": "text"},
	"message":    {"title": "text", "summary": "text", "contentType": "text", "payload": "payload", "headers": "schema"},
	"operation":  {"action!": "text", "title": "text", "summary": "text", "channel!": "@channel", "messages": "[]@message", "reply": "reply", "bindings": "bindings"},
	"reply":      {"address": "address", "channel": "@channel", "messages": "[]@message"},
	"address":    {"location!": "text"},
	"bindings":   {"nats": "nats"},
	"nats":       {"queue": "text", "bindingVersion": "text"},
	"components": {"messages": "{}message", "schemas": "{}schema"},
}

// document is the document as a reader receives it.
type document struct {
	*testing.T
	all object
}

func read(t *testing.T) *document {
	t.Helper()
	text := musttest.JSON(t, verb.AsyncAPI("v1.2.3", events.NewNames("shop")))
	d := &document{T: t}
	musttest.Decode(t, text, &d.all)
	return d
}

// at follows a reference; nil if there is no target.
func (d *document) at(ref string) any {
	var of any = d.all
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ := of.(object)
		of = o[part]
		if next, ok := of.(object); ok && next["$ref"] != nil && !strings.HasSuffix(ref, "/"+part) {
			of = d.at(fmt.Sprint(next["$ref"]))
		}
	}
	return of
}

// check checks a value at a path.
func (d *document) check(path, shape string, value any) {
	if of, ok := strings.CutPrefix(shape, "{}"); ok {
		o, ok := value.(object)
		if !ok {
			d.Errorf("%s is no map", path)
		}
		for name, v := range o { // any order: each is checked by itself.
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
				d.Errorf("%s has the name %q", path, name)
			}
			d.check(path+"/"+name, of, v)
		}
		return
	}
	if of, ok := strings.CutPrefix(shape, "[]"); ok {
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			d.Errorf("%s is no list of something", path)
		}
		for n, v := range list {
			d.check(fmt.Sprintf("%s/%d", path, n), of, v)
		}
		return
	}
	if of, ok := strings.CutPrefix(shape, "@"); ok {
		o, _ := value.(object)
		to, _ := o["$ref"].(string)
		target := d.at(to)
		if len(o) != 1 || target == nil {
			d.Errorf("%s: %v refers to no %s", path, value, of)
		}
		return
	}
	d.value(path, shape, value)
}

// value checks a value that is neither list nor reference.
func (d *document) value(path, shape string, value any) {
	o, isObject := value.(object)
	switch shape {
	case "any":
		return
	case "text":
		if text, ok := value.(string); !ok || text == "" {
			d.Errorf("%s is no text: %v", path, value)
		}
		return
	case "payload":
		if o["$ref"] != nil {
			d.check(path, "@schema", value)
			return
		}
		fallthrough
	case "schema":
		text, err := json.Marshal(value)
		if err == nil {
			err = schema.Check(text)
		}
		if err != nil {
			d.Errorf("%s: %v", path, err)
		}
		return
	}
	fields := shapes[shape]
	if fields == nil || !isObject {
		d.Errorf("%s is no %s", path, shape)
	}
	for name, v := range o { // any order: each is checked by itself.
		of := fields[name] + fields[name+"!"]
		if of == "" && !strings.HasPrefix(name, "x-") {
			d.Errorf("%s has a field %s, which no %s has", path, name, shape)
		}
		if of != "" {
			d.check(path+"/"+name, of, v)
		}
	}
	for name := range fields { // any order: each is checked by itself.
		if short, must := strings.CutSuffix(name, "!"); must {
			if _, ok := o[short]; !ok {
				d.Errorf("%s has no %s", path, short)
			}
		}
	}
}

func TestTheDescriptionOfTheBusIsValidAsyncAPI(t *testing.T) {
	d := read(t)
	d.check("#", "document", d.all)
	for name, v := range d.at("#/operations").(object) {
		o := v.(object)
		if action := o["action"]; action != "send" && action != "receive" {
			t.Errorf("%s: %v", name, action)
		}
		channel := o["channel"].(object)["$ref"].(string)
		for _, m := range o["messages"].([]any) {
			if to := m.(object)["$ref"].(string); !strings.HasPrefix(to, channel+"/messages/") {
				t.Errorf("%s: the message %s is not of its channel", name, to)
			}
		}
	}
	for name, v := range d.at("#/channels").(object) {
		address, _ := v.(object)["address"].(string)
		declared, _ := v.(object)["parameters"].(object)
		named := map[string]bool{}
		for part := range strings.SplitSeq(address, ".") {
			if strings.HasPrefix(part, "{") {
				named[strings.Trim(part, "{}")] = true
			}
		}
		if !slices.Equal(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(declared))) {
			t.Errorf("%s: %s has the parameters %v", name, address, declared)
		}
	}
}

func TestEveryVerbAndEveryFactIsDescribed(t *testing.T) {
	d := read(t)
	names := events.NewNames("shop")
	for _, v := range verb.All() {
		o, ok := d.at("#/operations/api." + v.Name).(object)
		if v.On == "" {
			if ok {
				t.Errorf("%s is answered on no bus", v.Name)
			}
			continue
		}
		if !ok || o["x-effect"] != string(v.Effect) || o["x-roles"] != v.Needs() || d.at("#/channels/api." + v.Name).(object)["address"] != "shop.api."+v.Name {
			t.Errorf("%s is described as %v", v.Name, o)
		}
		for part, name := range map[string]string{"request": v.InputSchema(), "reply": v.OutputSchema()} {
			payload := d.at("#/components/messages/api." + v.Name + "." + part).(object)["payload"].(object)
			if name != "" && payload["$ref"] != "#/components/schemas/"+name {
				t.Errorf("the %s of %s is %v, want %s", part, v.Name, payload, name)
			}
		}
	}
	sample := strings.NewReplacer("{shard}", fmt.Sprint(events.ShardOf("j")), "{job}", "j", "{subjob}", "a", "{run}", "1", "{request}", "ask", "{timer}", "t", "{turn}", "3")
	for _, e := range events.Definitions() {
		address := d.at("#/channels/" + string(e.Kind)).(object)["address"].(string)
		at, ok := names.Parse(sample.Replace(address))
		if same := at.Kind == e.Kind || e.Control && at.Control; !ok || !same || e.Run && at.SubJob != "a" {
			t.Errorf("%s: %s is parsed as %+v", e.Kind, address, at)
		}
		if d.at("#/operations/send."+string(e.Kind)) == nil {
			t.Errorf("%s is sent by nobody", e.Kind)
		}
	}
	for _, e := range schedule.Definitions() {
		if d.at("#/operations/send."+string(e.Kind)) == nil {
			t.Errorf("%s is sent by nobody", e.Kind)
		}
	}
}
