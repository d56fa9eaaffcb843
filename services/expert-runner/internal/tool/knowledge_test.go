package tool

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// documents are those of a session, by digest.
type documents map[string]string

func (d documents) Documents(context.Context) ([]events.Ref, error) {
	if d == nil {
		return nil, errors.New("the bus is away")
	}
	return []events.Ref{
		{Digest: strings.Repeat("a", 64), Name: "rules.md", MediaType: "text/markdown", Size: 5},
		{Digest: strings.Repeat("b", 64), Name: "twice"},
		{Digest: strings.Repeat("c", 64), Name: "twice"},
		{Digest: strings.Repeat("d", 64), Name: "large"},
		{Digest: strings.Repeat("e", 64), Name: "gone"},
	}, nil
}

func (d documents) Document(_ context.Context, digest string) ([]byte, error) {
	if text, ok := d[digest[:1]]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("not found")
}

// proves C41
func TestDocumentsOfASessionAreListedAndRead(t *testing.T) {
	large := strings.Repeat("ä", MaxRead/2) + "end"
	shelf := documents{"a": "be so", "b": "\xff", "c": "three", "d": large}
	tests := []struct {
		shelf      Documents
		tool, args string
		want, err  string
	}{
		{shelf, ListKnowledge, `{}`, "aaaaaaaaaaaa rules.md, 5 bytes, text/markdown\n", ""},
		{nil, ListKnowledge, ``, "(no documents)", ""},
		{shelf, ListKnowledge, `{"x":1}`, "", "bad arguments"},
		{documents(nil), ListKnowledge, `{}`, "", "the bus is away"},
		{shelf, ReadKnowledge, `{"id":"rules.md"}`, "be so", ""},
		{shelf, ReadKnowledge, `{"id":"aaaaaaaaaaaa","offset":3}`, "so", ""},
		{shelf, ReadKnowledge, `{"id":"aaaaaaaaaaaa","offset":300}`, "", ""},
		{shelf, ReadKnowledge, `{"id":"cccccccccccc"}`, "three", ""},
		{shelf, ReadKnowledge, `{"id":"large","offset":262144}`, "end", ""},
		{shelf, ReadKnowledge, `{"id":"large"}`, "[bytes 0 to 262144 of 262147; go on with offset 262144]", ""},
		{shelf, ReadKnowledge, `{"id":"twice"}`, "", "2 documents are called"},
		{shelf, ReadKnowledge, `{"id":"bbbbbbbbbbbb"}`, "", "is no text"},
		{shelf, ReadKnowledge, `{"id":"gone"}`, "", "not found"},
		{shelf, ReadKnowledge, `{"id":"aaa"}`, "", "there is no document"},
		{nil, ReadKnowledge, `{"id":"rules.md"}`, "", "there is no document"},
		{shelf, ReadKnowledge, `{"id":""}`, "", "bad arguments"},
		{shelf, ReadKnowledge, `{"id":"x","offset":-1}`, "", "bad arguments"},
		{shelf, ReadKnowledge, `[]`, "", "no JSON object"},
	}
	for _, test := range tests {
		tools := map[string]Tool{}
		for _, one := range NewKnowledge(test.shelf).Tools() {
			tools[one.Name] = one
		}
		got, err := tools[test.tool].Call(t.Context(), Call{Args: test.args})
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s %s: %v, want %s", test.tool, test.args, err, test.err)
			}
			continue
		}
		if err != nil || !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s %s: %.80q %v, want %q", test.tool, test.args, got, err, test.want)
		}
	}
	if d := cmp.Diff(false, NeedsWorkspace([]string{ListKnowledge, ReadKnowledge})); d != "" {
		t.Error(d)
	}
}
