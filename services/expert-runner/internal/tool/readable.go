package tool

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxPage is how much of a web page is read, in bytes; the text is usually a small part of it.
const maxPage = 4 << 20

// readable returns the text of a web page as Markdown, with its title and absolute links, and without what surrounds the text on
// every page of a site: menus, headers, footers, forms and scripts. ok is false if nothing is left.
func readable(page []byte, address *url.URL) (text string, ok bool) {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return "", false
	}
	title := ""
	if node := first(root, atom.Title); node != nil && node.FirstChild != nil {
		title = strings.Join(strings.Fields(node.FirstChild.Data), " ")
	}
	content := root
	if body := first(root, atom.Body); body != nil {
		content = body
	}
	prune(content)
	all := letters(content)
	for _, kind := range []atom.Atom{atom.Article, atom.Main} {
		if part := first(content, kind); part != nil && 2*letters(part) > all { // A smaller part is one of several, or not the content.
			content = part
			break
		}
	}
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	markdown, err := c.ConvertNode(content, converter.WithDomain(address.String()))
	text = strings.TrimSpace(string(markdown))
	if err != nil || text == "" {
		return "", false
	}
	if title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + title + "\n\n" + text
	}
	return text, true
}

// first finds the first element of a kind, in the order of the page.
func first(node *html.Node, kind atom.Atom) *html.Node {
	if node.Type == html.ElementNode && node.DataAtom == kind {
		return node
	}
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		if found := first(child, kind); found != nil {
			return found
		}
	}
	return nil
}

// prune removes everything but the text of a page. A header or footer within an article belongs to it.
func prune(node *html.Node) {
	for child := node.FirstChild; child != nil; {
		next := child.NextSibling
		if beside(child) {
			node.RemoveChild(child)
		} else {
			prune(child)
		}
		child = next
	}
}

func beside(node *html.Node) bool {
	if node.Type == html.CommentNode {
		return true
	}
	if node.Type != html.ElementNode {
		return false
	}
	for _, a := range node.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" || a.Key == "role" && (a.Val == "navigation" || a.Val == "search") {
			return true
		}
	}
	switch node.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Nav, atom.Aside, atom.Form, atom.Button, atom.Iframe, atom.Svg, atom.Canvas, atom.Dialog:
		return true
	case atom.Header, atom.Footer:
		return node.Parent == nil || node.Parent.DataAtom != atom.Article
	}
	return false
}

// letters returns how much text is below a node, in bytes.
func letters(node *html.Node) (n int) {
	if node.Type == html.TextNode {
		return len(strings.TrimSpace(node.Data))
	}
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		n += letters(child)
	}
	return n
}
