package render

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Code renders a text in a programming language, or without colours if the language is unknown; cut is true if it was longer than
// MaxText.
func Code(text, language string) (html string, cut bool) {
	kept := clip.Text(text, MaxText)
	return highlight(kept, language), len(kept) < len(text)
}

// JSON renders indented JSON; text that is not JSON stays unchanged.
func JSON(text string) (html string, cut bool) { return Code(indented(text, false), "json") }

// indented indents a JSON text, and sorts its names on request; text that is not JSON stays unchanged.
func indented(text string, sorted bool) string {
	if len(text) > MaxText {
		return text
	}
	var b bytes.Buffer
	if sorted {
		var value any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&value) != nil || d.More() {
			return text
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if e.Encode(value) != nil {
			return text
		}
		return b.String()
	}
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// plain renders a text without colours.
func plain(text string) string {
	return `<pre class="chroma"><code>` + html.EscapeString(text) + "</code></pre>"
}

// maxColoured is the size up to which a text is coloured, in bytes.
const maxColoured = 64 << 10

// lineEnds are the ends of lines that become "\n".
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// highlight writes each token with its class, and without styles, which the console forbids. A token that spans several lines
// becomes one per line.
func highlight(text, language string) string {
	begin := scannerOf(language)
	if begin == nil || len(text) > maxColoured {
		return plain(text)
	}
	text = lineEnds.Replace(string([]rune(text))) // Each byte that is not part of a valid character becomes U+FFFD.
	var b strings.Builder
	b.WriteString(`<pre class="chroma"><code>`)
	for scan := begin(); text != ""; {
		n, class := scan(text)
		for line := range strings.SplitAfterSeq(text[:n], "\n") {
			switch {
			case line == "":
			case class == "":
				b.WriteString(html.EscapeString(line))
			default:
				b.WriteString(`<span class="` + class + `">` + html.EscapeString(line) + "</span>")
			}
		}
		text = text[n:]
	}
	b.WriteString("</code></pre>")
	return b.String()
}
