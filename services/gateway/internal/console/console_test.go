package console_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/gateway/internal/console"
)

// most limits the compressed size of the console, in bytes.
const most = 250 << 10

func TestTheConsoleIsSmallAndAsksNoOtherHost(t *testing.T) {
	total := 0
	for _, name := range []string{"app.js", "app.css", "icon.svg"} {
		f, ok := console.Asset(name)
		if !ok || len(f.Body) == 0 {
			t.Fatalf("%s is missing", name)
		}
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, _ = z.Write(f.Body) // Writing to a buffer does not fail.
		musttest.Do(t, z.Close())
		total += zipped.Len()
		for _, at := range regexp.MustCompile(`(?:https?|wss?)://[^"'`+"`"+` )]+`).FindAllString(string(f.Body), -1) {
			if !strings.HasPrefix(at, "http://www.w3.org/") { // XML namespaces are not fetched.
				t.Errorf("%s names %s", name, at)
			}
		}
	}
	if total > most {
		t.Errorf("%d bytes compressed, at most %d", total, most)
	}
	if _, ok := console.Asset("doc.go"); ok {
		t.Error("a file that is no asset is served")
	}
}

func TestThePageHasNothingInline(t *testing.T) {
	page := string(console.Page().Body)
	for _, bad := range []string{"<style", "style=", "javascript:", " onload", " onclick"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q, which its policy forbids", bad)
		}
	}
	if strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script src="/assets/app.js" defer></script>`) {
		t.Error("the page loads one script, its own")
	}
}

// rules are patterns that the sources must not contain, each with the only file that may.
var rules = []struct{ pattern, only, why string }{
	{`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment`, "", "markup made of data"},
	{`\beval\(|new Function\(|setTimeout\("`, "", "code made of data"},
	{`DOMParser`, "core/rich.ts", "HTML comes in through one door"},
	{`\bfetch\(`, "core/api.ts", "one place talks to the gateway"},
	{`setAttribute\("style"|cssText`, "", "styles that the policy forbids"},
	{`document\.cookie|sessionStorage`, "", "the token belongs to the browser alone"},
}

func TestSourcesKeepTheirRules(t *testing.T) {
	seen := map[string]bool{}
	musttest.Do(t, fs.WalkDir(os.DirFS("web"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ts" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("web", path))
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte("\n")); n > 500 {
			t.Errorf("%s has %d lines, at most 500", path, n)
		}
		for _, rule := range rules {
			if !regexp.MustCompile(rule.pattern).Match(text) {
				continue
			}
			if path != rule.only {
				t.Errorf("%s has %s: %s", path, rule.pattern, rule.why)
			}
			seen[rule.pattern] = true
		}
		return nil
	}))
	for _, rule := range rules {
		if rule.only != "" && !seen[rule.pattern] {
			t.Errorf("%s does not have %s: the rule protects nothing", rule.only, rule.pattern)
		}
	}
}
