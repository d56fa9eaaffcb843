package intake

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// slowCanonical reads a value and writes it again.
func slowCanonical(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	musttest.Do(t, d.Decode(&value))
	return string(musttest.JSON(t, value))
}

func FuzzCanonicalJSONIsWhatReadingAndWritingGives(f *testing.F) {
	for _, text := range []string{
		`null`, `""`, `-1.50e3`, `[]`, `[[],{}]`, `{}`, `{"b":1,"a":[{"z":null,"y":"<\u00e9\n目标，>"},2]}`, `{"a":1,"a":{"b":2}}`, `{"\u0061":1,"b":2,"a":3}`,
		`"\ud800"`, `{"\ufffd":1,"\ud800":2}`, `"\/"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		written := musttest.JSON(t, json.RawMessage(text))
		if got, want := string(canonical(written)), slowCanonical(t, written); got != want {
			t.Fatalf("%s\ngot  %s\nwant %s", text, got, want)
		}
	})
}

func TestTheSameRequestInAnotherOrderHasTheSameDigest(t *testing.T) {
	digests := map[string]bool{}
	for _, body := range []string{
		`{"id":"a","goal":"g","plan":{"subjobs":[{"id":"x","goal":"1"}],"title":"t"},"inputs":{"b":1,"a":{"d":1,"c":2}}}`,
		`{"inputs":{"a":{"c":2,"d":1},"b":1},"plan":{ "title":"t", "subjobs":[{"goal":"1","id":"x"}]},"goal":"g","id":"b"}`,
	} {
		r, faults := events.DecodeRequest([]byte(body))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		digest := musttest.Get(digestOf(&r))(t)
		digests[digest] = true
	}
	if len(digests) != 1 {
		t.Fatal(digests)
	}
}

func BenchmarkDigest(b *testing.B) {
	r, faults := events.DecodeRequest([]byte(`{"id":"a","goal":"g","plan":{"title":"t","subjobs":[{"id":"x","goal":"1","expert":"e"},{"id":"y","goal":"2","dependencies":["x"],"expert":"e"}]}}`))
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	b.ReportAllocs()
	for b.Loop() {
		musttest.Get(digestOf(&r))(b)
	}
}
