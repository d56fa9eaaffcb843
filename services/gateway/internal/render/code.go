package render

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	formatter "github.com/alecthomas/chroma/v2/formatters/html"

	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Code renders a text in a programming language, or as it is in an unknown one; cut is true if it was longer than MaxText.
func Code(text, language string) (html string, cut bool) {
	kept := joblog.Cut(text, MaxText)
	return highlight(kept, language), len(kept) < len(text)
}

// JSON renders a JSON text with indentation; what is not JSON stays as it is.
func JSON(text string) (html string, cut bool) { return Code(indented(text, false), "json") }

// indented is a JSON text with indentation, with sorted names on request; what is not JSON stays as it is.
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

// plain is a text without colours.
func plain(text string) string {
	return `<pre class="chroma"><code>` + html.EscapeString(text) + "</code></pre>"
}

// writer is chroma's writer of HTML; classes alone, since the console allows no styles.
var writer = sync.OnceValue(func() *formatter.Formatter {
	return formatter.New(formatter.WithClasses(true), formatter.PreventSurroundingPre(true))
})

// unstyled is a style without colours: those of the console are in its own sheet, and chroma's would add 0.3 MB to each program.
var unstyled = sync.OnceValue(func() *chroma.Style { return chroma.MustNewStyle("console", chroma.StyleEntries{}) })

// maxColoured is up to which size a text is coloured, in bytes.
const maxColoured = 64 << 10

func highlight(text, language string) string {
	lexer := lexerOf(language)
	if lexer == nil || len(text) > maxColoured {
		return plain(text)
	}
	tokens, err := lexer.Tokenise(nil, text)
	if err != nil {
		return plain(text)
	}
	var b strings.Builder
	b.WriteString(`<pre class="chroma"><code>`)
	if writer().Format(&b, unstyled(), tokens) != nil {
		return plain(text)
	}
	b.WriteString("</code></pre>")
	return b.String()
}
