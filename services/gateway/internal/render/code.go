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

// Code renders a text in a programming language, or without colours if the language is unknown; cut is true if it was longer than
// MaxText.
func Code(text, language string) (html string, cut bool) {
	kept := joblog.Cut(text, MaxText)
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

// writer is chroma's HTML writer; it uses classes only, since the console allows no inline styles.
var writer = sync.OnceValue(func() *formatter.Formatter {
	return formatter.New(formatter.WithClasses(true), formatter.PreventSurroundingPre(true))
})

// unstyled is a style without colours: the console's style sheet has them, and chroma's would add 0.3 MB to each program.
var unstyled = sync.OnceValue(func() *chroma.Style { return chroma.MustNewStyle("console", chroma.StyleEntries{}) })

// maxColoured is the size up to which a text is coloured, in bytes.
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
