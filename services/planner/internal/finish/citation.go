package finish

import (
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
)

// What happens to sources in a written text that nothing in the job contains.
const (
	Mark   = "mark"   // They are marked as not verified.
	Remove = "remove" // They are removed; the words of a link stay.
	Keep   = "keep"   // They stay as they are.
)

// Known holds everything of a job that may contain a source: results, inputs, the request, text files.
type Known struct{ texts []string }

// Add adds texts in lower case, and a second time with percent-encoded bytes decoded if there are any.
func (k *Known) Add(texts ...string) {
	for _, text := range texts {
		if text = strings.ToLower(text); text == "" {
			continue
		}
		k.texts = append(k.texts, text)
		if plain := encoded.ReplaceAllStringFunc(text, decoded); plain != text {
			k.texts = append(k.texts, plain)
		}
	}
}

// encoded matches bytes of an address in percent-encoding.
var encoded = regexp.MustCompile(`(?:%[0-9a-f]{2})+`)

func decoded(text string) string {
	plain, err := hex.DecodeString(strings.ReplaceAll(text, "%", ""))
	if err != nil {
		return text // Not reached: the pattern allows nothing else.
	}
	return string(plain)
}

// AddJSON adds all keys and texts of a JSON value; other text is added unchanged.
func (k *Known) AddJSON(raw json.RawMessage) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		k.Add(string(raw))
		return
	}
	k.addValue(value, 0)
}

func (k *Known) addValue(value any, deep int) {
	switch v := value.(type) {
	case string:
		k.Add(v)
	case []any:
		for _, item := range v {
			k.addValue(item, deep+1)
		}
	case map[string]any:
		for key, item := range v { // any order: texts are only searched.
			k.Add(key)
			k.addValue(item, deep+1)
		}
	}
}

// Has reports whether one of the texts contains a source: the same page, whatever its scheme, "www." and anchor. The home page of a
// site is known if any of its pages is.
func (k *Known) Has(at string) bool {
	page := strings.ToLower(bare(at))
	for _, front := range []string{"https://", "http://", "www."} {
		page = strings.TrimPrefix(page, front)
	}
	forms := []string{page}
	if plain := encoded.ReplaceAllStringFunc(page, decoded); plain != page {
		forms = append(forms, plain)
	}
	root := !strings.ContainsAny(page, "/?")
	for _, text := range k.texts {
		for _, form := range forms {
			if root && strings.Contains(text, form) || names(text, form) {
				return true
			}
		}
	}
	return false
}

// cites matches a source in a text: a link or image of Markdown, an address between angle brackets, a bare address.
var cites = regexp.MustCompile(`!?` + link.String() + `|<https?://[^\s<>]+>|` + address.String())

// Verify returns a text in which unknown sources are removed or marked, and lists them, each once. Code stays unchanged.
func Verify(text string, known *Known, how, mark string) (verified string, unknown []string) {
	if how == Keep {
		return text, nil
	}
	seen := map[string]bool{}
	lines := strings.SplitAfter(text, "\n")
	fenced := false
	var b strings.Builder
	for _, line := range lines {
		if fence := strings.HasPrefix(strings.TrimSpace(line), "```"); fence || fenced {
			fenced = fenced != fence
			b.WriteString(line)
			continue
		}
		before := len(unknown)
		changed := verifyLine(line, known, how, mark, func(at string) {
			if !seen[bare(at)] {
				seen[bare(at)] = true
				unknown = append(unknown, at)
			}
		})
		if how == Remove && changed != line && len(unknown) >= before && listed(line) && len(link.FindAllString(line, 2)) < 2 {
			continue // An entry in a list of sources is removed with its source.
		}
		b.WriteString(changed)
	}
	return b.String(), unknown
}

// entry matches a line that lists a source and says nothing else.
var entry = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)]|\[\d+\]:?)\s*(?:` + cites.String() + `)\s*[.;]?\s*$`)

// listed reports whether a line is an entry of a list of sources.
func listed(line string) bool { return entry.MatchString(line) }

func verifyLine(line string, known *Known, how, mark string, found func(at string)) string {
	var b strings.Builder
	last := 0
	for _, at := range cites.FindAllStringSubmatchIndex(line, -1) {
		start, end := at[0], at[1]
		cited := line[start:end]
		words, source := "", cited
		switch {
		case at[2] >= 0: // A link.
			words, source = line[at[2]:at[3]], line[at[4]:at[5]]
		case cited[0] == '<':
			source = cited[1 : len(cited)-1]
		default:
			source = strings.TrimRight(source, ".,;:!?*_")
			end = start + len(source)
		}
		if inCode(line, start) || !whole.MatchString(source) || known.Has(source) {
			continue
		}
		found(source)
		b.WriteString(line[last:start])
		if how == Remove {
			b.WriteString(words)
		} else {
			b.WriteString(line[start:end] + mark)
		}
		last = end
	}
	return b.String() + line[last:]
}

// inCode reports whether a position of a line is inside a code span.
func inCode(line string, at int) bool { return strings.Count(line[:at], "`")%2 == 1 }

// Addresses lists the addresses in a text or JSON value, in the order of their occurrence.
func Addresses(raw []byte) []string { return address.FindAllString(unescaped.Replace(string(raw)), -1) }

// unescaped replaces the JSON escapes that occur in addresses.
var unescaped = strings.NewReplacer(`\/`, "/", `\u0026`, "&", `\n`, "\n", `\t`, "\t")
