package render

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// MaxText is how much of a text is rendered, in bytes.
const MaxText = 512 << 10

// Markdown renders GitHub's Markdown without raw HTML; cut is true if the text was longer than MaxText.
func Markdown(text string) (html string, cut bool) {
	kept := clip.Text(text, MaxText)
	if dense(kept) {
		return plain(kept), len(kept) < len(text)
	}
	var b bytes.Buffer
	if err := converter().Convert([]byte(kept), &b); err != nil {
		return plain(kept), len(kept) < len(text) // Writing to a buffer does not fail, so the parser has failed on the text.
	}
	return policy().Sanitize(b.String()), len(kept) < len(text)
}

// Bounds within which parsing Markdown takes roughly linear time.
const (
	maxLinks = 1000
	maxMarks = 5000
	maxDepth = 100
)

// dense reports whether a text would take quadratic time to parse, as no document written by a person does.
func dense(text string) bool {
	return strings.Count(text, "](") > maxLinks || strings.Count(text, "*")+strings.Count(text, "_") > maxMarks && strings.Count(text, "\n") < maxMarks/10 ||
		strings.Contains(text, strings.Repeat(">", maxDepth)) || strings.Contains(text, strings.Repeat("> ", maxDepth)) || strings.Contains(text, strings.Repeat("- ", maxDepth))
}

var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
	)
})

// policy lists the elements and attributes that the output may contain.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "strong", "em", "del", "code", "pre", "span", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[a-z][a-z0-9-]*$`)).OnElements("code", "pre", "span", "table", "tr", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

// blocks renders blocks of code with colours, and images as their alternative text.
type blocks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if block, ok := node.(*ast.FencedCodeBlock); ok && entering {
			_, _ = w.WriteString(highlight(string(block.Lines().Value(source)), string(block.Language(source)))) // Writing to a buffer does not fail.
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil })
}
