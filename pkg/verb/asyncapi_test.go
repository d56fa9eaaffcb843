package verb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

type object = map[string]any

// read returns the document as a reader receives it.
func read(t *testing.T) (all object) {
	t.Helper()
	musttest.Decode(t, musttest.JSON(t, verb.AsyncAPI("v1.2.3", events.NewNames("shop"))), &all)
	return all
}

func TestTheDescriptionOfTheBusKeepsTheRulesOfAsyncAPI(t *testing.T) {
	for _, wrong := range broken(read(t)) {
		t.Error(wrong)
	}
}

func TestEachBrokenRuleOfAsyncAPIIsFound(t *testing.T) {
	gone := new(object) // It stands for a field that is taken away.
	for _, c := range []struct {
		at    string
		value any
		want  string
	}{
		{"asyncapi", "2.6.0", `#/asyncapi is "2.6.0"`},
		{"info/version", gone, "#/info has no version"},
		{"info/contact", "us", "#/info has a field contact"},
		{"servers/bus.1", object{"host": "h", "protocol": "nats"}, `#/servers has the name "bus.1"`},
		{"servers/bus/host", gone, "#/servers/bus has no host"},
		{"servers/other", object{"host": "h", "protocol": "nats"}, "#/servers/other is referred to by nothing"},
		{"channels/item/title", 3, "#/channels/item/title is no text"},
		{"channels/item/servers", []any{object{"$ref": "#/servers/none"}}, "#/channels/item/servers/0: #/servers/none is no server"},
		{"channels/item/messages", object{}, "#/channels/item/messages is empty"},
		{"channels/item/messages/item", object{"title": "in place"}, "#/channels/item/messages/item is no reference"},
		{"channels/item/messages/item/$ref", "#/components/schemas/fault", "is no message of the components"},
		{"channels/item/parameters/job", gone, "#/channels/item: shop.item.{job}.{subjob} has the parameters [subjob]"},
		{"channels/item/parameters/more", object{"description": "none"}, "has the parameters [job more subjob]"},
		{"channels/item/parameters/job/schema", object{}, "#/channels/item/parameters/job has a field schema"},
		{"channels/item/parameters", object{"job.1": object{"description": "none"}}, `#/channels/item/parameters has the name "job.1"`},
		{"channels/item/address", "shop.item.>", "#/channels/item/address: shop.item.> is no subject"},
		{"channels/item/address", "shop.live.{job}.{subjob}", "#/channels/item and #/channels/live share subjects"},
		{"channels/item/address", "shop.event.1.{job}.{subjob}", "#/channels/control and #/channels/item share subjects"},
		{"operations/api.get/action", "reply", `#/operations/api.get/action is "reply"`},
		{"operations/api.get/channel", object{"address": "x"}, "#/operations/api.get/channel is no reference"},
		{"operations/api.get/channel/$ref", "#/components/messages/fault", "is no channel"},
		{"operations/api.get/channel/summary", "more", "#/operations/api.get/channel is no reference"},
		{"operations/api.get/messages", []any{}, "#/operations/api.get/messages is no list of something"},
		{"operations/api.get/messages", []any{object{"$ref": "#/channels/api.list/messages/request"}}, "#/channels/api.list/messages/request is not of #/channels/api.get"},
		{"operations/api.get/messages", []any{object{"$ref": "#/components/messages/api.get.request"}}, "is no message of a channel"},
		{"operations/api.get/reply/messages", []any{object{"$ref": "#/channels/api.get/messages/request"}}, "#/channels/api.get/messages/request is not of #/channels/api.get.reply"},
		{"operations/api.get/reply/address", object{"location": "$message.header#/reply"}, "#/operations/api.get/reply has a field address"},
		{"operations/api.get/reply", gone, "#/channels/api.get.reply is referred to by nothing"},
		{"operations/api.get/bindings/nats/bindingVersion", "9", `bindingVersion is "9"`},
		{"operations/api.get/bindings/nats/queue", strings.Repeat("q", 256), "queue is longer than 255"},
		{"operations/api.get/x-a b", 1, "#/operations/api.get has a field x-a b"},
		{"components/messages/a~b", object{"payload": object{}}, `#/components/messages has the name "a~b"`},
		{"components/messages/more", object{"payload": object{}}, "#/components/messages/more is referred to by nothing"},
		{"components/messages/item/body", object{}, "#/components/messages/item has a field body"},
		{"components/messages/item/payload/$ref", "#/components/schemas/none", "#/components/schemas/none is no schema of the components"},
		{"components/messages/stop.requested/headers", gone, "#/channels/control: nothing tells"},
		{"components/messages/stop.requested/headers/properties/ce-type/const", "io.jobgraph.fail.requested.v1", "#/channels/control: nothing tells fail.requested from stop.requested"},
		{"components/messages/api.get.reply/headers", object{"type": "object"}, "#/channels/api.get.reply: nothing tells fault from reply"},
		{"components/messages/job.finished/headers/type", "array", "#/components/messages/job.finished/headers is no map"},
		{"components/schemas/more", object{"type": "object"}, "#/components/schemas/more is referred to by nothing"},
		{"components/schemas/fault/type", "thing", "is not valid against metaschema"},
		{"components/schemas/fault/properties/code/$defs", object{}, "#/components/schemas/fault/properties/code has a keyword $defs"},
		{"components/schemas/fault/properties/code/$ref", "#/components/messages/fault", "code is no reference"},
	} {
		all := read(t)
		change(t, all, c.at, c.value, c.value == any(gone))
		found := broken(all)
		if !slices.ContainsFunc(found, func(wrong string) bool { return strings.Contains(wrong, c.want) }) {
			t.Errorf("%s = %.80v: found %q, want %q", c.at, c.value, found, c.want)
		}
	}
}

// change sets the field at a path, or takes it away.
func change(t *testing.T, all object, at string, value any, take bool) {
	t.Helper()
	path := strings.Split(at, "/")
	for _, name := range path[:len(path)-1] {
		below, ok := all[name].(object)
		if !ok {
			t.Fatalf("there is no %s in %s", name, at)
		}
		all = below
	}
	last := path[len(path)-1]
	if take {
		delete(all, last)
		return
	}
	all[last] = value
}

func TestEveryVerbAndEveryFactIsDescribed(t *testing.T) {
	all := read(t)
	names := events.NewNames("shop")
	for _, v := range verb.All() {
		o, ok := at(all, "#/operations/api."+v.Name).(object)
		if v.On == "" {
			if ok {
				t.Errorf("%s is answered on no bus", v.Name)
			}
			continue
		}
		if !ok || o["x-effect"] != string(v.Effect) || o["x-roles"] != v.Needs() || at(all, "#/channels/api."+v.Name).(object)["address"] != "shop.api."+v.Name {
			t.Errorf("%s is described as %v", v.Name, o)
		}
		for part, name := range map[string]string{"request": v.InputSchema(), "reply": v.OutputSchema()} {
			payload := at(all, "#/components/messages/api."+v.Name+"."+part).(object)["payload"].(object)
			if name != "" && payload["$ref"] != "#/components/schemas/"+name {
				t.Errorf("the %s of %s is %v, want %s", part, v.Name, payload, name)
			}
		}
	}
	sample := strings.NewReplacer("{shard}", fmt.Sprint(events.ShardOf("j")), "{job}", "j", "{subjob}", "a", "{run}", "1", "{request}", "ask", "{timer}", "t", "{turn}", "3")
	for _, e := range events.Definitions() {
		sent, ok := at(all, "#/operations/send."+string(e.Kind)).(object)
		if !ok {
			t.Fatalf("%s is sent by nobody", e.Kind)
		}
		address := at(all, sent["channel"].(object)["$ref"].(string)).(object)["address"].(string)
		got, ok := names.Parse(sample.Replace(address))
		if same := got.Kind == e.Kind || e.Control && got.Control; !ok || !same || e.Run && got.SubJob != "a" {
			t.Errorf("%s: %s is parsed as %+v", e.Kind, address, got)
		}
	}
	for _, e := range schedule.Definitions() {
		if at(all, "#/operations/send."+string(e.Kind)) == nil {
			t.Errorf("%s is sent by nobody", e.Kind)
		}
	}
}
