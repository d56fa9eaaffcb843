package verb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/schema"
)

// shapes are the objects of AsyncAPI 3.0 as far as we use them: the fields that each may have, with the shape of each. A field with
// "!" is required. The shapes "text", "address" and "schema" are values; "[]X" is a list and "{}X" a map of X; "@X" is a reference
// to X. The address of a reply is not among them, since it must be in a header or the payload of the request, where NATS has it not.
var shapes = map[string]map[string]string{
	"document":   {"asyncapi!": "text", "info!": "info", "defaultContentType": "text", "servers": "{}server", "channels": "{}channel", "operations": "{}operation", "components": "components"},
	"info":       {"title!": "text", "version!": "text", "description": "text"},
	"server":     {"host!": "text", "protocol!": "text", "description": "text"},
	"channel":    {"address!": "address", "title": "text", "description": "text", "messages": "{}@message of the components", "parameters": "{}parameter", "servers": "[]@server"},
	"parameter":  {"description!": "text"},
	"message":    {"title": "text", "summary": "text", "contentType": "text", "payload": "schema", "headers": "schema"},
	"operation":  {"action!": "text", "title": "text", "summary": "text", "channel!": "@channel", "messages!": "[]@message of a channel", "reply": "reply", "bindings": "bindings"},
	"reply":      {"channel!": "@channel", "messages!": "[]@message of a channel"},
	"bindings":   {"nats": "nats"},
	"nats":       {"queue": "text", "bindingVersion": "text"},
	"components": {"messages": "{}message", "schemas": "{}schema"},
}

// places says where the target of a reference must be.
var places = map[string]string{
	"server": "#/servers/*", "channel": "#/channels/*", "message of the components": "#/components/messages/*",
	"message of a channel": "#/channels/*/messages/*", "schema of the components": "#/components/schemas/*",
}

// keywords are those of our schemas; each is one of JSON Schema's draft 07, which AsyncAPI's schemas extend.
var keywords = []string{"type", "title", "description", "properties", "required", "items", "additionalProperties", "enum", "const", "format", "minimum", "not", "anyOf"}

var (
	nameOfAny      = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	nameWithoutDot = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // Of servers and parameters.
	extension      = regexp.MustCompile(`^x-[\w.-]+$`)
	subject        = regexp.MustCompile(`^([A-Za-z0-9_-]+|\{[A-Za-z0-9_-]+\})(\.([A-Za-z0-9_-]+|\{[A-Za-z0-9_-]+\}))*$`)
	parameter      = regexp.MustCompile(`\{([^}]*)\}`)
)

// rules collects what is wrong with a document.
type rules struct {
	all     object
	used    map[string]bool // The targets of all references.
	schemas object          // All schemas by where they are.
	wrong   []string
}

// broken lists the places where a document breaks a rule of AsyncAPI 3.0. Its schemas are compiled only if nothing else is wrong.
func broken(all object) []string {
	r := &rules{all: all, used: map[string]bool{}, schemas: object{}}
	r.check("#", "document", all)
	if len(r.wrong) > 0 {
		return r.wrong
	}
	r.values()
	r.operations()
	r.channels()
	for _, pattern := range places {
		for _, target := range under(all, pattern) {
			if !r.used[target] {
				r.say("%s is referred to by nothing", target)
			}
		}
	}
	if len(r.wrong) == 0 {
		r.compile()
	}
	slices.Sort(r.wrong)
	return r.wrong
}

func (r *rules) say(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// at follows a reference within a document; nil if nothing is there.
func at(all object, ref string) any {
	var of any = all
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ := of.(object)
		of = o[name]
	}
	return of
}

// under lists what is at the places of a pattern, sorted.
func under(all object, pattern string) []string {
	found := []string{""}
	for name := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, at0 := range found {
			o, _ := at(all, at0).(object)
			switch {
			case name == "#":
				next = append(next, "#")
			case at0 == "#":
				next = append(next, "#/"+name)
			case name == "*":
				for key := range o { // any order: the list is sorted.
					next = append(next, at0+"/"+key)
				}
			default:
				next = append(next, at0+"/"+name)
			}
		}
		found = next
	}
	slices.Sort(found)
	return found
}

// check checks a value at a place against a shape.
func (r *rules) check(at, shape string, value any) {
	if of, ok := strings.CutPrefix(shape, "{}"); ok {
		r.many(at, of, value)
		return
	}
	if of, ok := strings.CutPrefix(shape, "[]"); ok {
		list, _ := value.([]any)
		if len(list) == 0 {
			r.say("%s is no list of something", at)
		}
		for n, v := range list {
			r.check(fmt.Sprintf("%s/%d", at, n), of, v)
		}
		return
	}
	if of, ok := strings.CutPrefix(shape, "@"); ok {
		r.refers(at, of, value)
		return
	}
	text, isText := value.(string)
	switch shape {
	case "text":
		if !isText || text == "" {
			r.say("%s is no text: %v", at, value)
		}
	case "address":
		if value != nil && !subject.MatchString(text) {
			r.say("%s: %v is no subject", at, value)
		}
	case "schema":
		r.schemas[at] = value
		r.schema(at, value)
	default:
		r.fields(at, shape, value)
	}
}

// many checks a map.
func (r *rules) many(at, of string, value any) {
	o, _ := value.(object)
	if len(o) == 0 {
		r.say("%s is empty", at)
	}
	names := nameOfAny
	if of == "server" || of == "parameter" {
		names = nameWithoutDot
	}
	for name, v := range o { // any order: each is checked by itself.
		if !names.MatchString(name) {
			r.say("%s has the name %q", at, name)
		}
		r.check(at+"/"+name, of, v)
	}
}

// refers checks a reference.
func (r *rules) refers(from, of string, value any) {
	o, _ := value.(object)
	to, ok := o["$ref"].(string)
	if !ok || len(o) != 1 {
		r.say("%s is no reference", from)
		return
	}
	if fits, err := path.Match(places[of], to); err != nil || !fits || at(r.all, to) == nil {
		r.say("%s: %s is no %s", from, to, of)
	}
	r.used[to] = true
}

// fields checks the fields of an object.
func (r *rules) fields(at, shape string, value any) {
	fields := shapes[shape]
	o, ok := value.(object)
	if fields == nil || !ok {
		r.say("%s is no %s", at, shape)
	}
	for name, v := range o { // any order: each is checked by itself.
		switch of := fields[name] + fields[name+"!"]; {
		case of != "":
			r.check(at+"/"+name, of, v)
		case !extension.MatchString(name):
			r.say("%s has a field %s, which no %s has", at, name, shape)
		}
	}
	for name := range fields { // any order: each is checked by itself.
		if short, must := strings.CutSuffix(name, "!"); must {
			if _, ok := o[short]; !ok {
				r.say("%s has no %s", at, short)
			}
		}
	}
}

// schema checks the keywords and references of a schema, and of those in it.
func (r *rules) schema(at string, value any) {
	o, ok := value.(object)
	if _, boolean := value.(bool); boolean {
		return
	}
	if !ok {
		r.say("%s is no schema", at)
	}
	if o["$ref"] != nil {
		r.refers(at, "schema of the components", value)
		return
	}
	for name, v := range o { // any order: each is checked by itself.
		if !slices.Contains(keywords, name) {
			r.say("%s has a keyword %s", at, name)
		}
		switch name {
		case "properties":
			below, _ := v.(object)
			for property, of := range below { // any order: each is checked by itself.
				r.schema(at+"/properties/"+property, of)
			}
		case "items", "additionalProperties", "not":
			r.schema(at+"/"+name, v)
		case "anyOf":
			for n, of := range v.([]any) {
				r.schema(fmt.Sprintf("%s/anyOf/%d", at, n), of)
			}
		}
	}
}

// compile compiles all schemas at once.
func (r *rules) compile() {
	text, err := json.Marshal(object{"components": r.all["components"], "properties": r.schemas})
	if err == nil {
		err = schema.Check(text)
	}
	if err != nil {
		r.say("%v", err)
	}
}

// values checks fields that allow few values.
func (r *rules) values() {
	if v := r.all["asyncapi"]; v != "3.0.0" {
		r.say("#/asyncapi is %q", v)
	}
	for _, id := range under(r.all, "#/operations/*") {
		if action := at(r.all, id+"/action"); action != "send" && action != "receive" {
			r.say("%s/action is %q", id, action)
		}
		nats, _ := at(r.all, id+"/bindings/nats").(object)
		if v, ok := nats["bindingVersion"]; ok && v != "0.1.0" {
			r.say("%s: bindingVersion is %q", id, v)
		}
		if queue, _ := nats["queue"].(string); len(queue) > 255 {
			r.say("%s: queue is longer than 255", id)
		}
	}
	for _, id := range under(r.all, "#/components/messages/*") {
		if headers, ok := at(r.all, id+"/headers").(object); ok && headers["type"] != "object" {
			r.say("%s/headers is no map", id)
		}
	}
}

// operations checks that the messages of each operation, and of its reply, are those of the channel.
func (r *rules) operations() {
	for _, id := range slices.Concat(under(r.all, "#/operations/*"), under(r.all, "#/operations/*/reply")) {
		o, _ := at(r.all, id).(object)
		if o == nil {
			continue // It has no reply.
		}
		channel := at(o, "channel/$ref").(string)
		for _, m := range o["messages"].([]any) {
			if to := m.(object)["$ref"].(string); !strings.HasPrefix(to, channel+"/messages/") {
				r.say("%s: %s is not of %s", id, to, channel)
			}
		}
	}
}

// channels checks the parameters of channels, that a subject belongs to one channel only, and a message on it to one description.
func (r *rules) channels() {
	all := under(r.all, "#/channels/*")
	for n, id := range all {
		c := at(r.all, id).(object)
		address, _ := c["address"].(string)
		named := map[string]bool{}
		for _, m := range parameter.FindAllStringSubmatch(address, -1) {
			named[m[1]] = true
		}
		declared, _ := c["parameters"].(object)
		if has := slices.Sorted(maps.Keys(declared)); !slices.Equal(slices.Sorted(maps.Keys(named)), has) {
			r.say("%s: %s has the parameters %v", id, address, has)
		}
		for _, other := range all[n+1:] {
			if beside, _ := at(r.all, other+"/address").(string); overlap(address, beside) {
				r.say("%s and %s share subjects", id, other)
			}
		}
		said := slices.Sorted(maps.Keys(c["messages"].(object)))
		for n, one := range said {
			for _, other := range said[n+1:] {
				if !r.apart(id, one, other) && !r.apart(id, other, one) {
					r.say("%s: nothing tells %s from %s", id, one, other)
				}
			}
		}
	}
}

// overlap reports whether a subject can have both addresses.
func overlap(a, b string) bool {
	these, those := strings.Split(a, "."), strings.Split(b, ".")
	if a == "" || b == "" || len(these) != len(those) {
		return false
	}
	for n := range these {
		if these[n] != those[n] && these[n][0] != '{' && those[n][0] != '{' {
			return false
		}
	}
	return true
}

// apart reports whether one message of a channel requires a header that another excludes, or in which that has another value.
func (r *rules) apart(channel, one, other string) bool {
	headers := func(name string) object {
		h, _ := at(r.all, at(r.all, channel+"/messages/"+name+"/$ref").(string)+"/headers").(object)
		return h
	}
	has, lacks := headers(one), headers(other)
	required, _ := has["required"].([]any)
	excluded, _ := at(lacks, "not/required").([]any)
	for _, header := range required {
		this, that := at(has, fmt.Sprintf("properties/%s/const", header)), at(lacks, fmt.Sprintf("properties/%s/const", header))
		elsewhere, _ := lacks["required"].([]any)
		differ := this != nil && that != nil && this != that && slices.Contains(elsewhere, header)
		if differ || len(excluded) == 1 && excluded[0] == header {
			return true
		}
	}
	return false
}
