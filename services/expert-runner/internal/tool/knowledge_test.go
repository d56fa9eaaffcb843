package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// documents are the documents of a session, by digest.
type documents map[string]string

func (d documents) Documents(context.Context) ([]Document, error) {
	if d == nil {
		return nil, errors.New("the bus is away")
	}
	handbook, session := bases.Base{Scope: bases.Global, Name: "handbook"}, bases.Base{Scope: bases.Session, Name: "s"}
	return []Document{
		{handbook, events.Ref{Digest: strings.Repeat("a", 64), Name: "rules.md", MediaType: "text/markdown", Size: 5}},
		{session, events.Ref{Digest: strings.Repeat("b", 64), Name: "twice"}},
		{session, events.Ref{Digest: strings.Repeat("c", 64), Name: "twice"}},
		{session, events.Ref{Digest: strings.Repeat("d", 64), Name: "large"}},
		{session, events.Ref{Digest: strings.Repeat("e", 64), Name: "gone"}},
		{session, events.Ref{Digest: strings.Repeat("f", 64), Name: "wide"}},
	}, nil
}

func (d documents) Search(_ context.Context, query string, most int) (knowledge.Found, error) {
	if d == nil {
		return knowledge.Found{}, errors.New("the bus is away")
	}
	hit := knowledge.Hit{Base: bases.Base{Scope: bases.Global, Name: "handbook"}, Name: "rules.md", Heading: "Tone", Text: fmt.Sprintf("%s %d", query, most)}
	return knowledge.Found{Hits: []knowledge.Hit{hit}[:min(1, len(query)-1)], Unread: []string{"photo.png"}}, nil
}

func (d documents) Document(_ context.Context, doc Document) ([]byte, error) {
	if text, ok := d[doc.Digest[:1]]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("not found")
}

// proves C41
func TestDocumentsOfASessionAreListedAndRead(t *testing.T) {
	large := strings.Repeat("ä", MaxRead/2) + "end"
	shelf := documents{"a": "be so", "b": "\x00\xff", "c": "three", "d": large, "f": "\xff\xfeG\x00r\x00\xf6\x00"}
	tests := []struct {
		shelf      Shelf
		tool, args string
		want, err  string
	}{
		{shelf, ListKnowledge, `{}`, "aaaaaaaaaaaa rules.md, 5 bytes, text/markdown, of handbook\n", ""},
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
		{shelf, ReadKnowledge, `{"id":"wide"}`, "Grö\n[read as UTF-16]", ""},
		{shelf, SearchKnowledge, `{"query":"tone","most":2}`, "[k36f5204d] handbook/rules.md › Tone\ntone 2\n\n(not searched, since no text or too large: photo.png)", ""},
		{shelf, SearchKnowledge, `{"query":"tone"}`, "tone 5", ""},
		{shelf, SearchKnowledge, `{"query":"tone","most":90}`, "tone 20", ""},
		{shelf, SearchKnowledge, `{"query":"x"}`, "(no passage has these words)", ""},
		{shelf, SearchKnowledge, `{"query":" "}`, "", "bad arguments"},
		{nil, SearchKnowledge, `{"query":"x"}`, "(no documents)", ""},
		{documents(nil), SearchKnowledge, `{"query":"x"}`, "", "the bus is away"},
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
	musttest.Equal(t, false, NeedsWorkspace([]string{ListKnowledge, ReadKnowledge}))
}
