package render_test

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/gateway/internal/render"
)

// hostile are texts that try to execute something, load something or break out of their place.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`, `<iframe src="https://evil.example"></iframe>`,
	`[click](javascript:alert(1))`, `[click](ftp://evil.example/x)`, `[click](JaVaScRiPt:alert(1))`, `[click](data:text/html;base64,PHNjcmlwdD4=)`, `![x](https://evil.example/pixel.png)`,
	`<a href="jav&#x09;ascript:alert(1)">x</a>`, "```\"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```", `<style>*{display:none}</style>`,
	`<form action="https://evil.example"><input name=a></form>`, `<base href="https://evil.example">`, `<meta http-equiv=refresh content="0;url=https://evil.example">`,
	`<math><mtext></p><style><img src onerror=alert(1)>`, `<div id="app" class="x" style="position:fixed">`, "<https://ok.example/\"onclick=alert(1)>", `<object data=x><embed src=x>`,
	`<details open ontoggle=alert(1)>`, "[a]: javascript:alert(1)\n[a]", `{"a":"</pre><script>alert(1)</script>"}`, "+<img src=x onerror=alert(1)>", `<a href="//evil.example">x</a>`, "a\u202eb",
}

// inert fails the test if a page has an element or attribute that executes or loads something.
func inert(t *testing.T, from, page string) {
	t.Helper()
	elements := map[string]bool{
		"p": true, "br": true, "hr": true, "blockquote": true, "ul": true, "ol": true, "li": true, "strong": true, "em": true, "del": true, "code": true, "pre": true, "span": true,
		"table": true, "thead": true, "tbody": true, "tr": true, "th": true, "td": true, "a": true, "input": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true,
	}
	attributes := map[string]bool{"class": true, "href": true, "rel": true, "target": true, "start": true, "type": true, "checked": true, "disabled": true}
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		if !elements[token.Data] {
			t.Errorf("%q gives the element %s: %s", from, token.Data, page)
		}
		for _, a := range token.Attr {
			if !attributes[a.Key] || a.Key == "href" && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "mailto:") {
				t.Errorf("%q gives %s=%q: %s", from, a.Key, a.Val, page)
			}
			if a.Key == "type" && a.Val != "checkbox" {
				t.Errorf("%q gives a field: %s", from, page)
			}
		}
	}
}

func TestNothingThatIsRenderedDoesAnything(t *testing.T) {
	for _, text := range hostile {
		page, _ := render.Markdown(text)
		inert(t, text, page)
		for _, language := range []string{"", "go", "html", "json", "diff", "yaml", "sql", "sh", `"><script>`} {
			page, _ := render.Code(text, language)
			inert(t, text, page)
		}
		page, _ = render.JSON(text)
		inert(t, text, page)
		page, _ = render.Diff("same\n"+text, "same\n"+text+"\nmore"+text)
		inert(t, text, page)
		for _, name := range []string{"a.md", "a.csv", "a.json", "a.html", "a.txt", text} {
			p := render.PreviewOf(name, "text/html", []byte(text), true)
			inert(t, text, p.HTML)
		}
	}
}

func TestMarkdownIsThatOfGitHubWithoutHTML(t *testing.T) {
	page, cut := render.Markdown("# Head\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n- [x] done\n\nsee https://example.org or [it](mailto:a@example.org)\n\n```go\nfunc f() string { return \"x\" } // c\n```\n\n![a picture](x.png) <b>bold</b>")
	for _, want := range []string{"<h1>Head</h1>", "<th>a</th>", "<del>2</del>", "checkbox", `<a href="https://example.org" rel="nofollow noreferrer noopener" target="_blank">`, `mailto:a@example.org`, `<span class="k">func</span>`, `<span class="c1">// c</span>`, "a picture"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "<b>") || cut {
		t.Error(page)
	}
}

func TestCodeKeepsEveryCharacterAndKnowsWords(t *testing.T) {
	for language, c := range map[string]struct{ text, want string }{
		"go":     {"package main // x\n\nvar a = `b`\n", `<span class="k">package</span>`},
		"python": {"def f(x):\n    return None # y\n", `<span class="k">def</span>`},
		"sql":    {"SELECT a FROM b -- c\n", `<span class="k">SELECT</span>`},
		"json":   {"{\"a\": 1, \"b\": true}\n", `<span class="nt">&#34;a&#34;</span>`},
		"yaml":   {"a: 1 # b\nc-d: yes\n", `<span class="nt">c-d</span>`},
		"html":   {"<p class=\"x\">y &amp; z</p>\n", `<span class="nt">&lt;p</span>`},
		"diff":   {"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n", `<span class="gi">`},
		"sh":     {"if true; then echo \"$X\n\"; fi\n", `<span class="k">then</span>`},
		"":       {"a < b & c\n", "a &lt; b &amp; c"},
	} {
		page, _ := render.Code(c.text, language)
		if !strings.Contains(page, c.want) {
			t.Errorf("%s: no %s in %s", language, c.want, page)
		}
		var text strings.Builder
		z := html.NewTokenizer(strings.NewReader(page))
		for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
			if kind == html.TextToken {
				text.WriteString(z.Token().Data)
			}
		}
		if text.String() != c.text {
			t.Errorf("%s: %q became %q", language, c.text, text.String())
		}
	}
}

func TestTokensAreColouredByTheirClass(t *testing.T) {
	marked := regexp.MustCompile(`<span class="(\w+)">([^<]*)</span>`)
	for _, test := range []struct{ language, text, want string }{
		{"go", "x1 = f(0x1F, 1.5e-3) + 12_0 /* a\nb */", "n:x1 p:= nf:f p:( m:0x1F p:, m:1.5e-3 p:) p:+ m:12_0 cm:/* a cm:b */"},
		{"go", `"a\"b" 'c` + "\n`d\ne`", "s:\"a\\\"b\" s:'c s:`d s:e`"},
		{"go", "10x1F 1.5x 7é", "m:0x1F m:1 p:. n:x n:é"},
		{"python", "None # x\r\nif", "kc:None c1:# x k:if"},
		{"sql", "Select TRUE -- x", "k:Select kc:TRUE c1:-- x"},
		{"yaml", "a.b-c : \"d\" \"e\": 1", "nt:a.b-c p:: s:\"d\" nt:\"e\" p:: m:1"},
		{"html", `<a href="x">b &amp; </a><!-- c -->`, "nt:<a na:href s:\"x\" nt:> ni:&amp; nt:</a nt:> cm:<!-- c -->"},
		{"diff", "@@ 1\n+++ a\nindex b\n+c\n-d\n e", "gu:@@ 1 gh:+++ a gh:index b gi:+c gd:-d"},
	} {
		page, _ := render.Code(test.text, test.language)
		var got []string
		for _, m := range marked.FindAllStringSubmatch(page, -1) {
			if m[1] != "w" {
				got = append(got, m[1]+":"+strings.TrimSpace(html.UnescapeString(m[2])))
			}
		}
		if tokens := strings.Join(got, " "); tokens != test.want {
			t.Errorf("%s: %q gives %q, want %q", test.language, test.text, tokens, test.want)
		}
	}
}

func TestADifferenceShowsWhatChangedWithItsSurroundings(t *testing.T) {
	before := musttest.JSON(t, map[string]any{"b": 1, "a": []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, "z": "<x>"})
	page, _ := render.Diff(string(before), `{"z":"<x>","b":2,"a":[1,2,3,4,5,6,7,8,9]}`)
	if strings.Count(page, "diff-del") != 1 || strings.Count(page, "diff-add") != 1 || !strings.Contains(page, "diff-skip") || strings.Contains(page, ">1,<") {
		t.Error(page)
	}
	if same, _ := render.Diff(`{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`); strings.Contains(same, "<tr") {
		t.Error(same)
	}
}

func TestWhatIsTooLongIsCutAndSaysSo(t *testing.T) {
	long := strings.Repeat("é", render.MaxText)
	if page, cut := render.Markdown(long); !cut || len(page) > 3*render.MaxText {
		t.Error("Markdown", len(page), cut)
	}
	if page, cut := render.Code(long, "go"); !cut || len(page) > 3*render.MaxText {
		t.Error("code", len(page), cut)
	}
	if _, cut := render.Diff(long, "a"); !cut {
		t.Error("difference")
	}
}

// Deep nesting and repetition must not cost the gateway time or stack.
func TestNestingAndRepetitionCostNothing(t *testing.T) {
	for _, piece := range []string{">", "[", "*a ", "`", "- ", "![", "<", "[a](", "_a**", "|", "\\", "{", "\"", "/*", "<!--", "((((", "a:", "a.", "1", "10x"} {
		text := strings.Repeat(piece, 4000)
		render.Markdown(text)
		for _, language := range []string{"go", "json", "html", "sh", "diff", "sql", "yaml"} {
			render.Code(text, language)
		}
		render.Diff(text, strings.Repeat(piece+"\n", 1000))
	}
}

func TestAPreviewSaysWhatAFileIs(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n0000"
	for _, c := range []struct{ name, media, head, want string }{
		{"a.png", "image/png", png, render.Image},
		{"a.png", "image/png", "<html>", render.None},
		{"a.svg", "image/svg+xml", "<svg/>", render.Image},
		{"a.md", "text/plain", "# a", render.Document},
		{"a.csv", "text/csv", "a,b\n1,2\n", render.Table},
		{"a.json", "", `{"a":1}`, render.Object},
		{"a", "", `{"a":1}`, render.Object},
		{"a.go", "application/octet-stream", "package a", render.Source},
		{"Makefile", "text/plain", "a: b", render.Source},
		{"a.log", "text/plain", "x", render.Text},
		{"a.bin", "application/octet-stream", "\x00\x01", render.None},
		{"a.html", "text/html", "<script>", render.Source},
		{"a.pdf", "application/pdf", "%PDF", render.None},
		{"a.txt", "text/plain", "\xff\xfe", render.None},
	} {
		if p := render.PreviewOf(c.name, c.media, []byte(c.head), true); p.Kind != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.media, p.Kind, c.want)
		}
	}
	p := render.PreviewOf("a.csv", "text/csv", []byte("a,\"b\nc\"\n1,2\n"), true)
	if len(p.Rows) != 2 || p.Rows[0][1] != "b\nc" || p.Cut {
		t.Errorf("%+v", p)
	}
	if p := render.PreviewOf("a.txt", "text/plain", []byte("ab\xc3"), false); p.Kind != render.Text || !p.Cut || !strings.Contains(p.HTML, "ab") {
		t.Errorf("%+v", p)
	}
}
