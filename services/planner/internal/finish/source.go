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
	// Title is the name, or the address if the result gives no name. URL is the address.
	Title string `json:"title"`
	URL   string `json:"url"`
}

// mostSources limits the list, since no reader would go through more.
const mostSources = 200

// mostDeep limits how many levels of a nested result are searched.
const mostDeep = 32

var (
	whole   = regexp.MustCompile(`^(?:https?://|artifact:)[^\s/?#]+[^\s]*$`)
	link    = regexp.MustCompile(`\[([^\[\]\n]{1,300})\]\(((?:https?://|artifact:)[^\s()<>"]+(?:\([^\s()<>"]*\)[^\s()<>"]*)*)\)`)
	address = regexp.MustCompile(`(?:https?://|\bartifact:)[^\s<>"'` + "`" + `\[\]()（）【】《》，。；]+`)
)

// cited finds the sources in a result: objects with a url field, Markdown links, and bare addresses of pages or of the
// job's files.
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

// merge appends the sources of more that are not yet in the list. A named source replaces a bare address.
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

// same compares two addresses, ignoring the fragment and a trailing slash.
func same(a, b string) bool { return bare(a) == bare(b) }

func bare(at string) string {
	at, _, _ = strings.Cut(at, "#")
	return strings.TrimRight(at, "/")
}

// Lacking lists the sources that text does not mention.
func Lacking(text string, sources []Source) []Source {
	var left []Source
	for _, s := range sources {
		if !names(text, bare(s.URL)) {
			left = append(left, s)
		}
	}
	return left
}

// names reports whether text contains the address at. A longer address that only begins with it does not count.
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

// goesOn lists the characters after which an address continues.
const goesOn = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_%?=&"
