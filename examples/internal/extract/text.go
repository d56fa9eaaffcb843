package extract

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

// The limits of what prose may add to a graph.
const (
	maxTerms    = 150
	maxNames    = 250
	minTogether = 2
	maxInPart   = 40
	maxPairs    = 600
)

// text reads prose: Markdown and its relatives, or plain paragraphs.
type text struct {
	r         *reader
	documents map[string]bool
	links     []link
	parts     []part
	heading   *regexp.Regexp
	inline    *regexp.Regexp
	bare      *regexp.Regexp
	code      *regexp.Regexp
	proper    *regexp.Regexp
}

type link struct{ from, target string }

// part is one paragraph, reduced to its subjects.
type part struct {
	document string
	names    map[string]int
	terms    map[string]int
}

func newText(r *reader) *text {
	return &text{
		r: r, documents: map[string]bool{},
		heading: regexp.MustCompile(`^(?:#{1,6}|={1,5})\s+(.+?)\s*#*$`),
		inline:  regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`),
		bare:    regexp.MustCompile(`https?://[^\s<>()\[\]"'` + "`" + `]+`),
		code:    regexp.MustCompile("`([A-Za-z_][A-Za-z0-9_.:/-]{1,60})(?:\\(\\))?`"),
		proper:  regexp.MustCompile(`\p{Lu}[\p{L}\d]+(?:[ -]\p{Lu}[\p{L}\d]*)+|\p{Lu}\p{Ll}+\p{Lu}[\p{L}\d]+`),
	}
}

func documentID(name string) string { return "document:" + name }

// add reads one document.
func (t *text) add(name, content string) {
	id := documentID(name)
	t.documents[name] = true
	t.r.build.Add(graph.Entity{ID: id, Kind: "document", Name: name, File: name})
	var paragraph []string
	fenced, number := false, 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		switch title := t.heading.FindStringSubmatch(line); {
		case fenced:
		case title != nil:
			t.addPart(id, paragraph)
			paragraph = []string{title[1]}
			t.addHeading(id, name, title[1], number)
		case line == "":
			t.addPart(id, paragraph)
			paragraph = nil
		default:
			paragraph = append(paragraph, line)
		}
	}
	t.addPart(id, paragraph)
}

func (t *text) addHeading(document, file, title string, line int) {
	title = strings.Trim(title, "*_` ")
	if title == "" {
		return
	}
	id := fmt.Sprintf("heading:%s:%d", file, line)
	t.r.build.Add(graph.Entity{ID: id, Kind: "heading", Name: clip(title, 80), File: file, Line: line})
	t.r.build.Relate(document, id, "contains", 1)
}

// addPart records the links of a paragraph and the names and terms in it.
func (t *text) addPart(document string, lines []string) {
	if len(lines) == 0 {
		return
	}
	body := strings.Join(lines, " ")
	for _, m := range t.inline.FindAllStringSubmatch(body, -1) {
		t.links = append(t.links, link{document, m[1]})
	}
	for _, target := range t.bare.FindAllString(body, -1) {
		t.links = append(t.links, link{document, target})
	}
	p := part{document: document, names: map[string]int{}, terms: map[string]int{}}
	body = t.bare.ReplaceAllString(body, " ")
	for _, m := range t.code.FindAllStringSubmatch(body, -1) {
		p.names[m[1]]++
	}
	for _, name := range t.proper.FindAllString(t.code.ReplaceAllString(body, " "), -1) {
		p.names[clip(name, 60)]++
	}
	for _, word := range words(body) {
		p.terms[word]++
	}
	t.parts = append(t.parts, p)
}

// finish keeps the most significant names and terms, relates documents to those that they contain, and relates those
// that occur together.
func (t *text) finish() {
	t.resolveLinks()
	names := frequent(t.parts, func(p part) map[string]int { return p.names }, maxNames)
	terms := frequent(t.parts, func(p part) map[string]int { return p.terms }, maxTerms)
	together := map[[2]string]int{}
	for _, p := range t.parts {
		var met []string
		met = t.mention(p.document, "name", p.names, names, met)
		met = t.mention(p.document, "term", p.terms, terms, met)
		slices.Sort(met)
		met = met[:min(len(met), maxInPart)]
		for i, a := range met {
			for _, b := range met[i+1:] {
				together[[2]string{a, b}]++
			}
		}
	}
	t.relateWords(together)
}

// relateWords keeps the pairs that occur together most often.
func (t *text) relateWords(together map[[2]string]int) {
	pairs := slices.Collect(maps.Keys(together))
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(together[b], together[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, pair := range pairs[:min(len(pairs), maxPairs)] {
		if together[pair] >= minTogether {
			t.r.build.Relate(pair[0], pair[1], "cooccurs", together[pair])
		}
	}
}

// mention adds the kept words of a paragraph and returns met with their ids.
func (t *text) mention(document, kind string, found map[string]int, keep map[string]bool, met []string) []string {
	for _, word := range slices.Sorted(maps.Keys(found)) {
		if !keep[word] {
			continue
		}
		id := kind + ":" + strings.ToLower(word)
		t.r.build.Add(graph.Entity{ID: id, Kind: kind, Name: word, Weight: found[word]})
		t.r.build.Relate(document, id, "mentions", found[word])
		met = append(met, id)
	}
	return met
}

// frequent picks the words that occur at least twice, most spread over paragraphs first.
func frequent(parts []part, of func(part) map[string]int, limit int) map[string]bool {
	total, spread := map[string]int{}, map[string]int{}
	for _, p := range parts {
		for word, count := range of(p) {
			total[word] += count
			spread[word]++
		}
	}
	list := slices.Collect(maps.Keys(total))
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(spread[b], spread[a]), cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})
	keep := map[string]bool{}
	for _, word := range list[:min(limit, len(list))] {
		if total[word] > 1 {
			keep[word] = true
		}
	}
	return keep
}

// resolveLinks relates documents to the documents of this tree, or to the sites, that they link to.
func (t *text) resolveLinks() {
	for _, l := range t.links {
		target, err := url.Parse(l.target)
		switch {
		case err != nil:
		case target.Host != "":
			id := "site:" + strings.ToLower(target.Hostname())
			t.r.build.Add(graph.Entity{ID: id, Kind: "site", Name: strings.ToLower(target.Hostname())})
			t.r.build.Relate(l.from, id, "links", 1)
		case target.Scheme == "" && target.Path != "":
			name := path.Join(path.Dir(strings.TrimPrefix(l.from, "document:")), target.Path)
			if t.documents[name] {
				t.r.build.Relate(l.from, documentID(name), "links", 1)
			}
		}
	}
}

func clip(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}
