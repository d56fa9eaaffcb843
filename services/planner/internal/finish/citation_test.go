package finish

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func known() *Known {
	k := &Known{}
	k.AddJSON(json.RawMessage(`{"text":"See https://a.example/one and [B](http://www.b.example/two_(2)).","sources":[{"url":"https:\/\/c.example\/%E4%B8%89?x=1&y=2"}]}`))
	k.Add("as shop.example/list says", "no JSON https://d.example/4")
	return k
}

// proves F15
func TestSourcesThatNothingContainsAreMarked(t *testing.T) {
	for text, want := range map[string]string{
		"[One](https://a.example/one) and https://a.example/one#part.":         "",
		"http://a.example/one/ <https://www.a.example/ONE>":                    "",
		"[B](https://b.example/two_(2)), https://b.example":                    "",
		"https://c.example/三?x=1&y=2 https://c.example/%E4%B8%89?x=1&y=2":      "",
		"https://shop.example/list, http://d.example/4!":                       "",
		"artifact:a/t.csv `https://x.example/code`":                            "artifact:a/t.csv? `https://x.example/code`",
		"```\ncurl https://x.example/api\n```\n":                               "",
		"[Two](https://a.example/two).":                                        "[Two](https://a.example/two)?.",
		"https://a.example/one-more, https://a.example/on":                     "https://a.example/one-more?, https://a.example/on?",
		"<https://x.example/a> and ![P](https://x.example/p.png)":              "<https://x.example/a>? and ![P](https://x.example/p.png)?",
		"- [X](https://x.example/a)\n- [One](https://a.example/one)\n":         "- [X](https://x.example/a)?\n- [One](https://a.example/one)\n",
		"（https://x.example/a）和 https://x.example/b。":                          "（https://x.example/a?）和 https://x.example/b?。",
		"| [X](https://x.example/a) | 1 |\n| [1](https://a.example/one) | 2 |": "| [X](https://x.example/a)? | 1 |\n| [1](https://a.example/one) | 2 |",
	} {
		if want == "" {
			want = text
		}
		got, unknown := Verify(text, known(), Mark, "?")
		if got != want || (len(unknown) == 0) != (want == text) {
			t.Errorf("%q became %q: %v", text, got, unknown)
		}
		if kept, _ := Verify(text, known(), Keep, "?"); kept != text {
			t.Errorf("%q was not kept: %q", text, kept)
		}
	}
}

// proves F15
func TestSourcesThatNothingContainsAreTakenOut(t *testing.T) {
	text := "Gold rose ([X](https://x.example/a), https://x.example/b), see [One](https://a.example/one).\n\n## Citations\n\n" +
		"- [X](https://x.example/a)\n\n1. https://x.example/b\n- [One](https://a.example/one)\n- X says so: [X](https://x.example/c#1)\n[2]: https://x.example/c\n"
	want := "Gold rose (X, ), see [One](https://a.example/one).\n\n## Citations\n\n" +
		"\n- [One](https://a.example/one)\n- X says so: X\n"
	got, unknown := Verify(text, known(), Remove, "?")
	musttest.Equal(t, want, got)
	if d := cmp.Diff([]string{"https://x.example/a", "https://x.example/b", "https://x.example/c#1"}, unknown); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"https://a.example/1", "https://b.example/2?x=1&y=2"}, Addresses([]byte(`{"a":"https:\/\/a.example\/1","b":["x\nhttps://b.example/2?x=1\u0026y=2"]}`))); d != "" {
		t.Error(d)
	}
}
