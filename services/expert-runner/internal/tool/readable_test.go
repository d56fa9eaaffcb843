package tool_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

const goldPage = `<!doctype html><html><head><title>Why gold
rises</title><style>p{}</style></head><body>
<header><a href="/">Home</a><nav><a href="/a">A menu</a></nav></header>
<main><article><header><h2>Gold</h2></header><p>Gold rises because of <b>fear</b> and <a href="../rates">rates</a>, as every report of the last weeks says.</p>
<ul><li>one</li><li>two</li></ul><table><tr><th>year</th><th>price</th></tr><tr><td>2025</td><td>4080</td></tr></table>
<pre><code>x = 1
y = 2</code></pre><script>alert("no")</script></article></main>
<aside>Read more</aside><form><input value="Search"></form><footer>All rights</footer><!-- a remark --></body></html>`

func TestAWebPageIsReadWithoutWhatSurroundsItsText(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, goldPage)
	}))
	t.Cleanup(s.Close)
	fetch := web(t, "127.0.0.0/8")
	got := musttest.Get(fetch(s.URL + "/news/gold"))(t)
	for _, want := range []string{
		"200 OK text/html\n# Why gold rises\n", "## Gold", "Gold rises because of **fear** and [rates](" + s.URL + "/rates)", "- one\n- two", "| year | price |", "| 2025 | 4080", "x = 1\ny = 2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, not := range []string{"menu", "Home", "Read more", "All rights", "alert", "Search", "remark", "p{}"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in:\n%s", not, got)
		}
	}
}

func TestALongTextIsFetchedInPartsOfWholeCharacters(t *testing.T) {
	long := strings.Repeat("金", tool.MaxFetched/3+100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, long)
	}))
	t.Cleanup(s.Close)
	fetch := web(t, "127.0.0.0/8")
	first, err := fetch(s.URL)
	if err != nil || !strings.Contains(first, "; go on with offset 262143]") {
		t.Fatalf("%v: …%s", err, first[max(0, len(first)-80):])
	}
}
