package events

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// missing writes golden files of kinds that have none. It never replaces one: wire forms only grow, so a new field gets a further
// file, <kind>.2.json.
var missing = flag.Bool("missing", false, "write the golden files that do not exist")

// golden is one message in the form of testdata.
type golden struct {
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"header"`
	Body    json.RawMessage     `json:"body"`
}

func (g golden) message(t *testing.T) Message {
	t.Helper()
	var body bytes.Buffer
	if err := json.Compact(&body, g.Body); err != nil {
		t.Fatal(err)
	}
	return Message{Subject: g.Subject, Header: g.Header, Body: body.Bytes()}
}

func goldens(t *testing.T) map[string]golden {
	t.Helper()
	paths, err := filepath.Glob("testdata/wire/*.json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]golden{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = g
	}
	return all
}

// example is an event of a kind with every field set to something.
func example(d Definition) Event {
	e := Event{Kind: d.Kind, ID: "j1/" + string(d.Kind) + "/1", Job: "j1", Source: "jobgraph/test", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Data: d.New()}
	switch {
	case d.Run:
		e.SubJob, e.Run = "a~2~b", 3
	case !d.Control && d.Kind != KindJobRequested:
		e.Key = "k1"
	}
	fill(reflect.ValueOf(e.Data).Elem(), "")
	switch p := e.Data.(type) {
	case *SubJobReported:
		p.Job, p.SubJob, p.Run, p.Outcome = "j1", "a~2~b", 3, Success
	case *InputRequested:
		p.Request = "q1"
	}
	return e
}

// fill sets a value, and all in it, to something that names it.
func fill(v reflect.Value, name string) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)))
		return
	case Duration:
		v.Set(reflect.ValueOf(Duration(90 * time.Second)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"` + name + `":[1,"two"]}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), item)
	case reflect.String:
		v.SetString("some " + name)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(8)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func TestGoldenMessagesAreReadAndWrittenForEver(t *testing.T) {
	n := NewNames("")
	for name, g := range goldens(t) {
		m := g.message(t)
		e, ok := Decode(n, m)
		if !ok || e.Fault != nil {
			t.Errorf("%s: read as %+v, %v", name, e.Fault, ok)
			continue
		}
		back, err := Encode(n, e)
		if err != nil {
			t.Fatal(err)
		}
		if back.Subject != m.Subject || !reflect.DeepEqual(back.Header, m.Header) || !bytes.Equal(back.Body, m.Body) {
			t.Errorf("%s is written back as\n%s %v\n%s\nwant\n%s %v\n%s", name, back.Subject, back.Header, back.Body, m.Subject, m.Header, m.Body)
		}
	}
}

func TestEveryFieldOfEveryKindHasAGoldenMessage(t *testing.T) {
	n := NewNames("")
	all := goldens(t)
	for _, d := range Definitions() {
		m, err := Encode(n, example(d))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for name, g := range all {
			if name == string(d.Kind) || strings.HasPrefix(name, string(d.Kind)+".") {
				paths(seen, "", g.message(t).Body)
			}
		}
		if len(seen) == 0 && *missing {
			name := string(d.Kind)
			text, err := json.MarshalIndent(golden{m.Subject, m.Header, m.Body}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("testdata/wire/"+name+".json", append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		wanted := map[string]bool{}
		paths(wanted, "", m.Body)
		for path := range wanted {
			if !seen[path] {
				t.Errorf("no golden message of %s has %s: add testdata/wire/%s.2.json", d.Kind, path, d.Kind)
			}
		}
	}
}

// paths collects the paths of all members of a JSON document.
func paths(into map[string]bool, at string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(raw, &fields) == nil {
		for name, value := range fields {
			into[at+"."+name] = true
			paths(into, at+"."+name, value)
		}
	} else if json.Unmarshal(raw, &items) == nil {
		for _, item := range items {
			paths(into, at+"[]", item)
		}
	}
}

func TestGoldenDocumentsAreReadAndWrittenForEver(t *testing.T) {
	for name, value := range map[string]any{"work": &Work{}, "journal": &JournalRecord{}, "card": &Card{}, "rejection": &Rejection{}, "request": &Request{}} {
		path := "testdata/form/" + name + ".json"
		fresh := reflect.New(reflect.TypeOf(value).Elem())
		fill(fresh.Elem(), "")
		if _, err := os.Stat(path); err != nil && *missing {
			text, err := json.MarshalIndent(fresh.Interface(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		seen, wanted := map[string]bool{}, map[string]bool{}
		later, err := filepath.Glob("testdata/form/" + name + ".*.json") // Fields that came later have files of their own.
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(later, path) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			value := reflect.New(reflect.TypeOf(value).Elem()).Interface()
			if err := json.Unmarshal(text, value); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(mustMarshal(t, value), mustMarshal(t, json.RawMessage(text))) {
				t.Errorf("%s is written back as %s", path, mustMarshal(t, value))
			}
			paths(seen, "", text)
		}
		paths(wanted, "", mustMarshal(t, fresh.Interface()))
		for p := range wanted {
			if !seen[p] {
				t.Errorf("no golden document of %s has %s", name, p)
			}
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
