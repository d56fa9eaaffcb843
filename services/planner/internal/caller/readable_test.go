package caller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// proves V25
// proves C-weakness-9-live
func TestAPlanIsShownAsTextWhileItIsWritten(t *testing.T) {
	tests := map[string]struct {
		json bool
		text string
		want []string
	}{
		"a research plan": {
			true, "Here it is:\n```json\n{\"locale\":\"en\",\"has_enough_context\":false,\"thought\":\"Compare \\\"A\\\" and\\nB \\u00e9\\ud83d\\ude00\",\"title\":\"A or B\"," +
				"\"steps\":[{\"need_search\":true,\"title\":\"Gather\",\"description\":\"look\"},{\"description\":\"Write it\",\"step_type\":\"x\"}]}\n```",
			[]string{"text text: Here it is:\n", "thinking thought: Compare \"A\" and\nB é😀", "plan plan: A or B\n- Gather\n- Write it\n"},
		},
		"a plan in tags behind words": {
			true, "Here it is:\n<decomposition>\n{\"s1\":{\"goal\":\"Find\"}}\n</decomposition>", []string{"text text: Here it is:\n", "plan plan: - Find\n"},
		},
		"subtasks by id": {
			true, `{"s1":{"goal":"Find","context":"c","thinking":"hidden"},"s2":{"goal":"Tell","dependencies":["s1"]}}`, []string{"plan plan: - Find\n- Tell\n"},
		},
		"steps in words": {true, `{"title":"T","steps":["one","two"]}`, []string{"plan plan: T\n- one\n- two\n"}},
		"tasks":          {true, `{"tasks":[{"title":"News","query":"q"}],"adequate":true,"reason":"clear"}`, []string{"plan plan: - News\n", "thinking reason: clear"}},
		"a triage":       {true, `{"decision":"answer","answer":"It is 4.","title":null}`, []string{"text answer: It is 4."}},
		"plain text":     {false, "The report says {x} and more.", []string{"text text: The report says {x} and more."}},
		"no JSON":        {true, "I cannot plan that.", []string{"text text: I cannot plan that."}},
		"JSON cut off":   {true, `{"thought":"half a tho`, []string{"thinking thought: half a tho"}},
	}
	for name, test := range tests {
		for _, size := range []int{1, 3, 7, 10_000} {
			var order []string
			types, texts, done := map[string]item.Type{}, map[string]string{}, map[string]bool{}
			r := newReadable("draft/1", test.json, func(i item.Item) {
				if types[i.ID] == "" {
					order = append(order, i.ID)
				}
				if i.Text != "" && i.Offset != len(texts[i.ID]) {
					t.Errorf("%s is at %d and continues at %d", i.ID, len(texts[i.ID]), i.Offset)
				}
				types[i.ID], done[i.ID] = i.Type, i.Done
				texts[i.ID] += i.Text
			})
			text := test.text
			for len(text) > 0 {
				n := min(size, len(text))
				r.take(llm.Delta{Text: text[:n]})
				text = text[n:]
			}
			r.done()
			var list []string
			for _, id := range order {
				if !done[id] {
					t.Errorf("%s does not end", id)
				}
				list = append(list, fmt.Sprintf("%s %s: %s", types[id], strings.TrimPrefix(id, "draft/1/"), texts[id]))
			}
			if diff := cmp.Diff(test.want, list); diff != "" {
				t.Errorf("%s, in pieces of %d: %s", name, size, diff)
			}
		}
	}
}

func TestAnAnswerThatBeginsAgainIsShownFromItsBeginning(t *testing.T) {
	var got []string
	r := newReadable("draft/1", true, func(i item.Item) { got = append(got, fmt.Sprint(i.ID, i.Offset, i.Text)) })
	r.take(llm.Delta{Text: `{"thought":"wro`})
	r.take(llm.Delta{Restart: true, Text: `{"thought":"right"}`})
	musttest.Equal(t, []string{"draft/1/thought0wro", "draft/1/thought0right"}, got)
}

// Broken JSON of any shape neither breaks the display nor costs more than its length.
func TestReadingIsLinearAndNeverFails(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 100_000), strings.Repeat("}", 100_000), strings.Repeat(`{"a":`, 100_000), `{"thought":"` + strings.Repeat(`\\`, 100_000),
		strings.Repeat(`"`, 100_001), `{"` + strings.Repeat("k", 1<<20), `{"thought":"\\ud83d` + strings.Repeat(`\\ud83d`, 10_000),
	} {
		kept := newReadable("k", true, func(item.Item) {})
		for i := range len(text) {
			kept.take(llm.Delta{Text: text[i : i+1]})
		}
		kept.done()
		if n := len(kept.scan.levels); n > maxDepth || len(kept.scan.text) > maxLine || len(kept.before) > maxBefore+1 {
			t.Errorf("%.10q keeps %d levels, %d bytes", text, n, len(kept.scan.text))
		}
	}
}

// A call that asks for a plan or a verdict expects JSON, also behind some words.
func TestACallForAPlanIsReadBehindWords(t *testing.T) {
	var got []string
	q := &loop.Question{Key: "draft/1", Call: &planning.ModelCall{Name: "plan"}, Live: func([]byte) {}, Show: func(i item.Item) {
		got = append(got, string(i.Type)+" "+i.Text)
	}}
	sink, done := watched(q)
	sink(llm.Delta{Text: `Here: {"thought":"so"}`})
	done()
	musttest.Equal(t, []string{"text Here:\n", "thinking so", "text ", "thinking "}, got)
}

func TestAnAttemptThatFailsIsShownBeforeTheNextOne(t *testing.T) {
	var shown []item.Item
	r := newReadable("draft/1", false, func(i item.Item) { shown = append(shown, i) })
	r.take(llm.Delta{Retry: "model m: timeout"})
	r.take(llm.Delta{Retry: "model m: overloaded"})
	want := []item.Item{
		{Type: item.Warning, ID: "draft/1/retry/1", Text: "model m: timeout; it is asked again", Done: true},
		{Type: item.Warning, ID: "draft/1/retry/2", Text: "model m: overloaded; it is asked again", Done: true},
	}
	musttest.Equal(t, want, shown)
}
