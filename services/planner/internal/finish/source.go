package finish

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Source is something that a result cites.
type Source struct {
	// Title names it, the address where the result gives no name; URL is where it is.
	Title string `json:"title"`
	URL   string `json:"url"`
}

// mostSources bounds the list: a report with more would not be read.
const mostSources = 200

// mostDeep bounds how deep a result is searched.
const mostDeep = 32

var (
	whole   = regexp.MustCompile(`^(?:https?://|artifact:)[^\s/?#]+[^\s]*$`)
	link    = regexp.MustCompile(`\[([^\[\]\n]{1,300})\]\(((?:https?://|artifact:)[^\s()<>"]+(?:\([^\s()<>"]*\)[^\s()<>"]*)*)\)`)
	address = regexp.MustCompile(`(?:https?://|\bartifact:)[^\s<>"'` + "`" + `\[\]()（）【】《》，。；]+`)
)

// cited finds what a result cites: objects with a url, links of Markdown, plain addresses, of pages and of files of the job.
func cited(result json.RawMessage) []Source {
	d := json.NewDecoder(bytes.NewReader(result))
	var value any
	if d.Decode(&value) != nil {
		return inText(string(result))
	}
	return inValue(value, 0)
}

func inValue(value any, deep int) []Source {
	if deep > mostDeep {
		return nil
	}
	var all []Source
	switch v := value.(type) {
	case string:
		return inText(v)
	case []any:
		for _, item := range v {
			all = merge(all, inValue(item, deep+1))
		}
	case map[string]any:
		at, _ := v["url"].(string)
		name, _ := v["title"].(string)
		if s, ok := source(name, at); ok {
			all = merge(all, []Source{s})
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = merge(all, inValue(v[key], deep+1))
		}
	}
	return all
}

func inText(text string) []Source {
	var all []Source
	for _, hit := range link.FindAllStringSubmatch(text, mostSources) {
		if s, ok := source(hit[1], hit[2]); ok {
			all = merge(all, []Source{s})
		}
	}
	for _, hit := range address.FindAllString(link.ReplaceAllString(text, " "), mostSources) {
		if s, ok := source("", strings.TrimRight(hit, ".,;:!?*_")); ok {
			all = merge(all, []Source{s})
		}
	}
	return all
}

func source(title, at string) (Source, bool) {
	s := Source{Title: strings.Join(strings.Fields(title), " "), URL: strings.TrimSpace(at)}
	if !whole.MatchString(s.URL) {
		return Source{}, false
	}
	if s.Title == "" {
		s.Title = s.URL
	}
	return s, true
}

// merge adds sources that are not there yet. A name takes the place of a bare address.
func merge(to, more []Source) []Source {
	for _, s := range more {
		known := false
		for i := range to {
			if same(to[i].URL, s.URL) {
				known = true
				if to[i].Title == to[i].URL && s.Title != s.URL {
					to[i].Title = s.Title
				}
			}
		}
		if !known && len(to) < mostSources {
			to = append(to, s)
		}
	}
	return to
}

// same compares addresses without what changes nothing: the place in the page, a slash at the end.
func same(a, b string) bool { return bare(a) == bare(b) }

func bare(at string) string {
	at, _, _ = strings.Cut(at, "#")
	return strings.TrimRight(at, "/")
}

// Lacking lists the sources that a text does not name.
func Lacking(text string, sources []Source) []Source {
	var left []Source
	for _, s := range sources {
		if !names(text, bare(s.URL)) {
			left = append(left, s)
		}
	}
	return left
}

// names finds an address in a text, and not one that only begins with it.
func names(text, at string) bool {
	for {
		_, rest, found := strings.Cut(text, at)
		if !found {
			return false
		}
		if next := strings.TrimLeft(rest, "/"); next == "" || !strings.ContainsRune(goesOn, rune(next[0])) {
			return true
		}
		text = rest
	}
}

// goesOn are the characters behind which an address is a longer one.
const goesOn = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_%?=&"
