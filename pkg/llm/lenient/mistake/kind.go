package mistake

import (
	"encoding/json"
	"strconv"
	"strings"
)

// kind is one kind of mistake: make returns all texts that the mistake can turn a document into, with the intended value if it
// differs from the document's.
type kind struct {
	name string
	make func(d *draft) []made
}

// made is a text with a mistake; want is the intended value, empty for the document's own.
type made struct{ text, want string }

// draft is a document to put a mistake into.
type draft struct {
	src  string
	list []token
}

// each makes a text for every token that fits; change returns the replacement of the token.
func (d *draft) each(fits func(i int, t token) bool, change func(i int, t token, text string) string) []made {
	var found []made
	for i, t := range d.list {
		if fits(i, t) {
			found = append(found, made{text: d.src[:t.at] + change(i, t, d.src[t.at:t.end]) + d.src[t.end:]})
		}
	}
	return found
}

// next returns the mark of the token after i.
func (d *draft) next(i int) byte {
	if i+1 < len(d.list) {
		return d.list[i+1].mark
	}
	return 0
}

// prev returns the mark of the token before i.
func (d *draft) prev(i int) byte {
	if i > 0 {
		return d.list[i-1].mark
	}
	return 0
}

// broken reports whether a line ends after token i.
func (d *draft) broken(i int) bool {
	return i+1 < len(d.list) && strings.Contains(d.src[d.list[i].end:d.list[i+1].at], "\n")
}

// without leaves out the text between two offsets.
func (d *draft) without(from, to int) made { return made{text: d.src[:from] + d.src[to:]} }

// content returns a string without its quotes.
func content(text string) string { return text[1 : len(text)-1] }

func isKey(_ int, t token) bool    { return t.role == key }
func isText(_ int, t token) bool   { return t.text && t.role == member }
func isItem(_ int, t token) bool   { return t.text && t.role == element }
func isScalar(_ int, t token) bool { return !t.text && t.mark == 0 }

// plainWords reports whether a text could stand without quotes: it is not a number or literal, and nothing in it would end it.
func plainWords(text string) bool {
	text = content(text)
	return text != "" && !strings.ContainsAny(text, "\\{}[],:#\"，：、") && !json.Valid([]byte(text))
}

// on makes a text for every token that fits.
func on(name string, fits func(int, token) bool, change func(text string) string) kind {
	return kind{name, func(d *draft) []made {
		return d.each(fits, func(_ int, _ token, text string) string { return change(text) })
	}}
}

// where makes a text for every token that fits together with its neighbours.
func where(name string, fits func(d *draft, i int, t token) bool, change func(text string) string) kind {
	return kind{name, func(d *draft) []made {
		return d.each(func(i int, t token) bool { return fits(d, i, t) }, func(_ int, _ token, text string) string { return change(text) })
	}}
}

// drop leaves out punctuation that fits.
func drop(name string, mark byte, fits func(d *draft, i int) bool) kind {
	return where(name, func(d *draft, i int, t token) bool { return t.mark == mark && fits(d, i) }, func(string) string { return "" })
}

// meant makes texts whose intended value changes as well.
func meant(name string, fits func(int, token) bool, change func(text string) (mistake, right string, ok bool)) kind {
	return kind{name, func(d *draft) []made {
		var found []made
		for i, t := range d.list {
			if !fits(i, t) {
				continue
			}
			mistake, right, ok := change(d.src[t.at:t.end])
			if ok {
				found = append(found, made{text: d.src[:t.at] + mistake + d.src[t.end:], want: d.src[:t.at] + right + d.src[t.end:]})
			}
		}
		return found
	}}
}

func open(text string) string             { return text[1:] }
func closed(text string) string           { return text[:len(text)-1] }
func doubled(text string) string          { return `"` + text + `"` }
func after(s string) func(string) string  { return func(text string) string { return text + s } }
func before(s string) func(string) string { return func(text string) string { return s + text } }

// halves cuts the content of a string at a space, or after a third of its characters.
func halves(text string) (first, second string, ok bool) {
	inner := []rune(content(text))
	if len(inner) < 6 || strings.ContainsRune(string(inner), '\\') {
		return "", "", false
	}
	at := len(inner) / 3
	for i, r := range inner {
		if r == ' ' && i > 1 && i < len(inner)-2 {
			at = i + 1
			break
		}
	}
	return string(inner[:at]), string(inner[at:]), true
}

// quoted marks a phrase in a string with quotes. The first form lacks the backslashes.
func quoted(mark string) func(string) (string, string, bool) {
	return func(text string) (string, string, bool) {
		first, second, ok := halves(text)
		if !ok {
			return "", "", false
		}
		inner := []rune(second)
		word, rest := string(inner[:2]), string(inner[2:])
		if i := strings.IndexByte(second, ' '); i > 0 {
			word, rest = second[:i], second[i:]
		}
		return `"` + first + `"` + word + `"` + mark + rest + `"`, `"` + first + `\"` + word + `\"` + mark + rest + `"`, true
	}
}

// containers makes a text for every object or array that is the value of a member.
func containers(name string, mark byte, change func(text string) string) kind {
	return kind{name, func(d *draft) []made {
		var found []made
		for _, t := range d.list {
			if t.mark == mark && t.role == member && t.close > 0 {
				end := d.list[t.close].end
				found = append(found, made{text: d.src[:t.at] + change(d.src[t.at:end]) + d.src[end:]})
			}
		}
		return found
	}}
}

// escaped returns a text as the content of a JSON string.
func escaped(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(text), `"`), `"`)
}
