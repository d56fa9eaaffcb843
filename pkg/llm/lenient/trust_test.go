package lenient_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient/mistake"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
)

// result is how well a case was read.
type result string

const (
	right  result = "right"
	wrong  result = "wrong"
	guess  result = "guess"
	failed result = "error"
)

// same reports whether two texts are the same value.
func same(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("got %s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("want %s: %v", want, err)
	}
	return reflect.DeepEqual(a, b)
}

// reader reads one case.
type reader func(text string, o lenient.Options) (json.RawMessage, lenient.Trust, error)

// measure reads all cases and returns the result of each.
func measure(t *testing.T, cases []mistake.Case, known bool, read reader) []result {
	t.Helper()
	schemas, shapes := map[string]*schema.Schema{}, map[string]*lenient.Shape{}
	results := make([]result, len(cases))
	for i, c := range cases {
		o := lenient.Options{Fits: lenient.Object}
		if known {
			if schemas[c.Schema] == nil {
				raw, err := mistake.Schema(c.Schema)
				if err != nil {
					t.Fatal(err)
				}
				if schemas[c.Schema], err = schema.Read(raw); err != nil {
					t.Fatal(err)
				}
				shapes[c.Schema] = lenient.ShapeOf(raw)
			}
			o.Shape = shapes[c.Schema]
			o.Fits = func(v json.RawMessage) bool { return len(schemas[c.Schema].Misfits(v)) == 0 }
		}
		raw, trust, err := read(c.Text, o)
		switch {
		case err != nil:
			results[i] = failed
		case trust == lenient.Guessed:
			results[i] = guess
		case same(t, raw, c.Want):
			results[i] = right
		default:
			results[i] = wrong
		}
	}
	return results
}

func count(results []result) map[result]int {
	found := map[result]int{}
	for _, r := range results {
		found[r]++
	}
	return found
}

// gains counts the results of the present and the previous reader.
type gains struct {
	results map[result]int
	former  map[result]int
	// lost counts the cases that the previous reader read correctly and that are a guess now.
	lost int
}

func compare(t *testing.T, known bool) (cases []mistake.Case, g gains) {
	t.Helper()
	cases = musttest.Get(mistake.Cases())(t)
	before, now := measure(t, cases, known, func(text string, o lenient.Options) (json.RawMessage, lenient.Trust, error) {
		o.Shape = nil
		raw, _, err := lenient.Read(text, o)
		return raw, lenient.Repaired, err
	}), measure(t, cases, known, func(text string, o lenient.Options) (json.RawMessage, lenient.Trust, error) {
		r, err := lenient.Examine(text, o)
		return r.JSON, r.Trust, err
	})
	g = gains{results: count(now), former: count(before)}
	for i := range cases {
		if before[i] == right && now[i] == guess {
			g.lost++
		}
		if now[i] == wrong && known {
			t.Errorf("%s in %s was read wrong without a doubt: %s", cases[i].Kind, cases[i].Document, cases[i].Text)
		}
	}
	t.Logf("%d cases, schema known: %t: %v; without examination: %v; right there and a guess now: %d", len(cases), known, g.results, g.former, g.lost)
	return cases, g
}

// The numbers that the reader must reach on the corpus of mistakes. jsonrepair 0.2.15 reads 1441 of the cases correctly.
const (
	wantRight        = 2900
	wantRightByShape = 3050
)

// proves C14
// proves F5
// proves C-T4
// proves F-T8
func TestNoMistakeIsReadWrongWithoutADoubtWhereTheShapeIsKnown(t *testing.T) {
	_, g := compare(t, true)
	if g.results[wrong] > 0 || g.results[right] < wantRightByShape || g.lost*50 > g.former[right] {
		t.Errorf("got %v, %d lost of %d; want none wrong, at least %d right, at most 2 %% lost", g.results, g.lost, g.former[right], wantRightByShape)
	}
}

// proves C14
// proves F5
func TestFewMistakesAreReadWrongWithoutADoubtWhereNoShapeIsKnown(t *testing.T) {
	cases, g := compare(t, false)
	if g.results[wrong]*50 > len(cases) || g.results[right] < wantRight || g.lost*50 > g.former[right] {
		t.Errorf("got %v, %d lost of %d; want at most 2 %% of %d wrong, at least %d right, at most 2 %% lost", g.results, g.lost, g.former[right], len(cases), wantRight)
	}
}

func TestTheCorpusPutsFortyKindsOfMistakesIntoTwentyDocumentsOfTwoLanguages(t *testing.T) {
	cases := musttest.Get(mistake.Cases())(t)
	kinds, documents, chinese := map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		kinds[c.Kind]++
		documents[c.Document] = true
		if strings.ContainsFunc(c.Text, func(r rune) bool { return r >= 0x4e00 && r < 0xa000 }) {
			chinese[c.Document] = true
		}
	}
	if len(kinds) < 40 || len(documents) < 20 || len(chinese) < 8 {
		t.Errorf("%d kinds in %d documents, %d of them Chinese", len(kinds), len(documents), len(chinese))
	}
	again, err := mistake.Cases()
	if err != nil || !slices.Equal(cases, again) {
		t.Errorf("the corpus is another one the second time: %v", err)
	}
}

// documents returns all documents with the shapes of their schemas.
func documents(t *testing.T) ([]mistake.Document, map[string]*lenient.Shape) {
	t.Helper()
	list := musttest.Get(mistake.Documents())(t)
	shapes := map[string]*lenient.Shape{}
	for _, d := range list {
		raw := musttest.Get(mistake.Schema(d.Schema))(t)
		shapes[d.Schema] = lenient.ShapeOf(raw)
	}
	return list, shapes
}

func TestATextCutAtAnyByteIsNeverTrusted(t *testing.T) {
	list, shapes := documents(t)
	for _, d := range list {
		for i := range d.Text {
			for _, shape := range []*lenient.Shape{nil, shapes[d.Schema]} {
				r, err := lenient.Examine(d.Text[:i], lenient.Options{Shape: shape, Fits: lenient.Object})
				if err == nil && r.Trust != lenient.Guessed {
					t.Fatalf("%s cut at %d is trusted: %s", d.Name, i, r.JSON)
				}
			}
		}
	}
}

func TestATextWithAMistakeCutAtAnyByteIsNeverTrustedAsAnotherOne(t *testing.T) {
	cases := musttest.Get(mistake.Cases())(t)
	_, shapes := documents(t)
	for n := 0; n < len(cases); n += 17 {
		c := cases[n]
		for i := 1; i < len(c.Text); i += 3 {
			r, err := lenient.Examine(c.Text[:i], lenient.Options{Shape: shapes[c.Schema], Fits: lenient.Object})
			if err == nil && r.Trust != lenient.Guessed && !same(t, r.JSON, c.Want) {
				t.Fatalf("%s in %s, cut at %d, is trusted:\n%s\n%s", c.Kind, c.Document, i, c.Text[:i], r.JSON)
			}
		}
	}
}

func TestADocumentWithoutMistakesIsUnchanged(t *testing.T) {
	list, shapes := documents(t)
	for _, d := range list {
		r, err := lenient.Examine(d.Text, lenient.Options{Shape: shapes[d.Schema]})
		if err != nil || r.Trust != lenient.Unchanged || r.Doubt != nil || !same(t, r.JSON, d.Text) {
			t.Errorf("%s: %v, %v, %v", d.Name, r.Trust, r.Doubt, err)
		}
	}
}

func TestADoubtNamesThePlace(t *testing.T) {
	r, err := lenient.Examine("{\"目标\": \"甲\",\n \"乙\": 5 个 \"x\"}", lenient.Options{})
	if err != nil || r.Trust != lenient.Guessed || r.Doubt == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	if r.Doubt.Line != 2 || r.Doubt.Column < 6 || !strings.Contains(r.Doubt.String(), "个") {
		t.Errorf("got %v", r.Doubt)
	}
}

func TestTheShapeSettlesWhatJSONLeavesOpen(t *testing.T) {
	shape := lenient.ShapeOf(json.RawMessage(`{"type":"object","properties":{"on":{"type":"boolean"},"n":{"type":"integer"},"text":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}}}`))
	for text, want := range map[string]string{
		`{"on": "true", "n": "5", "text": "true"}`: `{"on":true,"n":5,"text":"true"}`,
		`{"on": "TRUE"}`:                 `{"on":true}`,
		`{"n": 5, "n": "many"}`:          `{"n":5}`,
		`{"n": "many", "n": 5}`:          `{"n":5}`,
		`{"text": "a", "text": "a"}`:     `{"text":"a"}`,
		`{"list": "[\"a\", \"b\"]"}`:     `{"list":["a","b"]}`,
		`{"text": "[1]", "list": ["1"]}`: `{"text":"[1]","list":["1"]}`,
	} {
		r, err := lenient.Examine(text, lenient.Options{Shape: shape})
		if err != nil || string(r.JSON) != want || r.Trust == lenient.Guessed {
			t.Errorf("%s: got %s, %v, %v", text, r.JSON, r.Trust, err)
		}
	}
	r, err := lenient.Examine(`{"text": "a", "text": "b"}`, lenient.Options{Shape: shape})
	if err != nil || r.Trust != lenient.Guessed {
		t.Errorf("two values of equal right: got %s, %v, %v", r.JSON, r.Trust, err)
	}
}
