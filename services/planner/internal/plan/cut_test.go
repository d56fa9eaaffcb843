package plan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// slowObject returns what readObject must return for valid JSON.
func slowObject(t *testing.T, raw []byte) (keys []string, values []string, twice []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	musttest.Get(d.Token())(t)
	seen := map[string]bool{}
	for d.More() {
		token := musttest.Get(d.Token())(t)
		var value json.RawMessage
		musttest.Do(t, d.Decode(&value))
		key := token.(string)
		if seen[key] {
			twice = append(twice, key)
			continue
		}
		seen[key] = true
		keys, values = append(keys, key), append(values, string(value))
	}
	return keys, values, twice
}

func FuzzAnObjectIsCutAsEncodingJSONReadsIt(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a" : -1.5e3 , "b":"x\\\"}{" , "c":[{"d":[]},"]"],"a":null}`, `{"\u0061":true,"a":false,"目标":"，"}`, `{"":{"":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := readObject(text)
		if !json.Valid(text) {
			return // The only requirement is that it does not panic.
		}
		if kindOf(text) != '{' {
			if err == nil {
				t.Fatal("no object, and taken as one")
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		keys, values, twice := slowObject(t, text)
		var got []string
		for i := range o.fields {
			got = append(got, string(o.fields[i].value))
		}
		if d := cmp.Diff([][]string{keys, values, twice}, [][]string{o.keys(), got, o.twice}, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q: %s", text, d)
		}
	})
}
