package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestDocumentsOfOtherEncodingsAreDecodedAndBinaryOnesRefused(t *testing.T) {
	utf16Of := func(text string, big bool) string {
		out := []byte{0xFF, 0xFE}
		if big {
			out = []byte{0xFE, 0xFF}
		}
		for _, u := range utf16.Encode([]rune(text)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return string(out)
	}
	chinese := "退款政策：客户可以在三十天内申请退款。"
	gb := musttest.Get(simplifiedchinese.GB18030.NewEncoder().String(chinese))(t)
	tests := []struct{ data, text, name string }{
		{"plain", "plain", UTF8},
		{"", "", UTF8},
		{"\uFEFFwith a mark", "with a mark", UTF8},
		{chinese, chinese, UTF8},
		{utf16Of("Größe 退款", false), "Größe 退款", UTF16},
		{utf16Of("Größe 退款", true), "Größe 退款", UTF16},
		{gb, chinese, GB18030},
		{"Die Gr\xf6\xdfe des K\xe4sekuchens", "Die Größe des Käsekuchens", Windows1252},
		{"caf\xe9 cr\xe8me", "café crème", Windows1252},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "", ""},
		{"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\x01\x02\x03", "", ""},
		{"\xff\xfe\x00\xd8", "", ""}, // Half a surrogate pair.
		{"PK\x03\x04\x14", "", ""},
		{"\xff\xff\xff\xff", "", ""},
	}
	for _, test := range tests {
		text, name, err := Decode([]byte(test.data))
		if text != test.text || name != test.name || (err != nil) != (test.name == "") || err != nil && !errors.Is(err, ErrBinary) {
			t.Errorf("%.40q: %q %q %v, want %q %q", test.data, text, name, err, test.text, test.name)
		}
	}
}

func TestATextIsDividedAtHeadingsAndParagraphsWithoutLoss(t *testing.T) {
	long := strings.Repeat("A sentence that is repeated. ", 100)
	text := "intro\n\n# Shop\n\nwelcome\n## Returns\nwithin 30 days\n```\n# no heading\n```\n# Contact\nmail\n\n" + long + "\n\n" + strings.Repeat("字", 1000)
	var headings []string
	rest := text
	for _, p := range Passages(text) {
		part := text[p.Start:p.End]
		headings = append(headings, p.Heading)
		if len(part) > MaxPassage || strings.TrimSpace(part) != part || !strings.Contains(rest, part) || part == "" {
			t.Errorf("passage %d to %d: %d bytes", p.Start, p.End, len(part))
		}
		before, behind, _ := strings.Cut(rest, part)
		if strings.TrimSpace(before) != "" {
			t.Errorf("lost: %.40q", before)
		}
		rest = behind
	}
	if strings.TrimSpace(rest) != "" {
		t.Errorf("lost at the end: %.40q", rest)
	}
	want := []string{"", "Shop", "Shop › Returns", "Contact", "Contact", "Contact", "Contact", "Contact"}
	musttest.Equal(t, want, headings)
}

func TestWordsAreFoldedAndScriptsWithoutSpacesArePaired(t *testing.T) {
	tests := []struct{ text, want string }{
		{"The Refund-Policies of 2026, cases & glass", "the refund policy of 2026 case glass"},
		{"GRÖẞE naïve Ωmega", "größe naïve ωmega"},
		{"退款政策", "退款 款政 政策"},
		{"A4纸张 on 一", "a4 纸张 on 一"},
		{"한국어 문서", "한국 국어 문서"},
		{"", ""},
		{strings.Repeat("x", 200), strings.Repeat("x", maxWord)},
	}
	for _, test := range tests {
		var got []string
		Words(test.text, func(word []byte) { got = append(got, string(word)) })
		if strings.Join(got, " ") != test.want {
			t.Errorf("%.40q: %q, want %q", test.text, strings.Join(got, " "), test.want)
		}
	}
}

// shop is a Store in memory.
type shop struct {
	documents map[bases.Base]map[string]string // By name, which also serves as the digest.
	reads     int
	fail      error
}

func (s *shop) List(_ context.Context, b bases.Base) (list []events.Ref, err error) {
	for i := range 9 {
		name := fmt.Sprint("d", i)
		if text, there := s.documents[b][name]; there {
			list = append(list, events.Ref{Name: name, Digest: name, Size: int64(len(text))})
		}
	}
	return list, nil
}

func (s *shop) Get(_ context.Context, b bases.Base, digest string) ([]byte, error) {
	s.reads++
	text, there := s.documents[b][digest]
	switch {
	case s.fail != nil:
		return nil, s.fail
	case !there:
		return nil, store.ErrNotFound
	}
	return []byte(text), nil
}

func TestTheBestPassagesOfSeveralBasesAreFoundAndAnIndexIsBuiltOncePerVersion(t *testing.T) {
	handbook, mine := bases.Base{Scope: bases.Global, Name: "handbook"}, bases.Base{Scope: bases.User, Name: "ann"}
	s := &shop{documents: map[bases.Base]map[string]string{
		handbook: {
			"d1": "# Refunds\nA customer gets a refund within 30 days.\n# Shipping\nParcels leave on Mondays.",
			"d2": "退款政策：客户可以在三十天内申请退款。\n\n",
			"d3": "\x00\x01",
		},
		mine: {"d1": "Ann wants every refund as a voucher.", "d2": "# Refunds\nA customer gets a refund within 30 days."},
	}}
	l := NewLibrary(s)
	search := func(query string, bases ...bases.Base) (texts []string) {
		t.Helper()
		found := musttest.Get(l.Search(t.Context(), bases, query, 2))(t)
		for _, h := range found.Hits {
			texts = append(texts, h.Base.Label()+"/"+h.Name+"#"+h.Heading)
		}
		return texts
	}
	tests := []struct {
		query string
		bases []bases.Base
		want  []string
	}{
		{"How do I get a refund?", []bases.Base{handbook}, []string{"handbook/d1#Refunds"}},
		{"退款", []bases.Base{handbook}, []string{"handbook/d2#"}},
		{"refund customers", []bases.Base{handbook, mine}, []string{"handbook/d1#Refunds", "user/d1#"}},
		{"voucher", []bases.Base{handbook}, nil},
		{"the of and", []bases.Base{handbook, mine}, nil},
		{"", []bases.Base{handbook}, nil},
		{"refund", nil, nil},
	}
	for _, test := range tests {
		if d := cmp.Diff(test.want, search(test.query, test.bases...)); d != "" {
			t.Errorf("%q: %s", test.query, d)
		}
	}
	if s.reads != 5 {
		t.Errorf("%d reads, want one of each document", s.reads)
	}
	found, err := l.Search(t.Context(), []bases.Base{handbook}, "parcels", 3)
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Text != "# Shipping\nParcels leave on Mondays." || !cmp.Equal(found.Unread, []string{"d3"}) {
		t.Errorf("%+v %v", found, err)
	}
	delete(s.documents[handbook], "d1")
	if got := search("refund", handbook); got != nil {
		t.Errorf("a removed document is found: %v", got)
	}
	s.documents[handbook]["d4"], s.fail = "news", errors.New("the bus is away")
	if _, err := l.Search(t.Context(), []bases.Base{handbook}, "news", 1); err == nil {
		t.Error("a failure of the store is hidden")
	}
	s.fail = nil
	if got := search("news", handbook); len(got) != 1 {
		t.Errorf("%v: the index is not built after a failure", got)
	}
}

// corpus is text of about size bytes with a vocabulary like that of a natural language.
func corpus(size int) string {
	var b strings.Builder
	state := uint64(1)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	for i := 0; b.Len() < size; i++ {
		switch {
		case i%400 == 0:
			fmt.Fprintf(&b, "\n\n## Chapter %d\n\n", i)
		case i%60 == 0:
			b.WriteString(".\n\n")
		}
		r := next(1000)
		fmt.Fprintf(&b, "w%x ", next(max(1, r*r*r/20_000)+1))
	}
	return b.String()
}

func BenchmarkIndexOf10MB(b *testing.B) {
	text := corpus(10 << 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var index Text
		musttest.Do(b, index.Add(b.Context(), &Document{Text: text}))
	}
}

func BenchmarkSearchIn10MB(b *testing.B) {
	var index Text
	musttest.Do(b, index.Add(b.Context(), &Document{Text: corpus(10 << 20)}))
	query := "w1 w2a w3ff w1000 w77 chapter w12 w5 w9c and what else is there"
	for b.Loop() {
		if hits, err := index.Search(b.Context(), query, 6); err != nil || len(hits) != 6 {
			b.Fatal(len(hits), err)
		}
	}
}
