package brief_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// missing writes golden files that do not exist. It never replaces one, since wire forms only grow.
var missing = flag.Bool("missing", false, "write the golden files that do not exist")

// whole is a brief with every field.
func whole() *brief.Brief {
	step := func(id string, s brief.Status) brief.Step {
		return brief.Step{ID: id, Title: "Step <" + id + ">", Status: s}
	}
	return &brief.Brief{
		V: brief.Version, Job: "j1", Request: brief.Request{Goal: "写一份报告", Context: "a \"context\"\nof two lines", Inputs: []string{"path"}, Attachments: []string{"a.pdf"}},
		Plan:         &brief.Plan{Version: 2, Title: "Report", Steps: []brief.Step{step("a", brief.Completed), step("b", brief.InProgress), step("c", brief.NotStarted), step("d", brief.Blocked)}, First: 5},
		Place:        &brief.Place{Step: step("b", brief.InProgress), N: 6, Of: 9},
		Marks:        &brief.Marks{Completed: 5, InProgress: 1, NotStarted: 2, Blocked: 1},
		Predecessors: []brief.Step{step("a", brief.Completed)}, MorePredecessors: 1, Successors: []brief.Step{step("c", brief.NotStarted)}, MoreSuccessors: 2,
		Lessons: []string{"look twice"}, Locale: "zh-CN", Timezone: "Asia/Shanghai", Deadline: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Budget: events.Spent{Tokens: 7, CostUSD: 0.25}, Session: "s1", Thread: "t1", User: "ann",
	}
}

func TestABriefIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	for _, b := range []*brief.Brief{whole(), tooled(), {}, {V: 1, Job: "j", Plan: &brief.Plan{}, Place: &brief.Place{}, Marks: &brief.Marks{}}} {
		want, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Append(nil); err != nil || string(got) != string(want) {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}

// tooled is a brief of a request that changes the tools of agents.
func tooled() *brief.Brief {
	offline := false
	return &brief.Brief{V: brief.Version, Job: "j1", Request: brief.Request{Goal: "g"}, Tools: &toolset.Change{Web: &offline}}
}

func TestTheGoldenBriefsAreReadAndWrittenForEver(t *testing.T) {
	golden(t, "testdata/brief.json", whole())
	golden(t, "testdata/brief.tools.json", tooled())
}

func golden(t *testing.T, path string, whole *brief.Brief) {
	t.Helper()
	if _, err := os.Stat(path); err != nil && *missing {
		text, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := brief.Read(text, nil)
	if err != nil || !reflect.DeepEqual(b, whole) {
		t.Fatalf("%+v, %v", b, err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, text); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Append(nil); err != nil || !bytes.Equal(bytes.ReplaceAll(got, []byte(`\u003c`), []byte("<")), bytes.ReplaceAll(want.Bytes(), []byte(`\u003c`), []byte("<"))) {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want.Bytes())
	}
}

func TestTheBlobTakesThePlaceOfWhatWasShortened(t *testing.T) {
	b := whole()
	b.Request.Context, b.Plan.Steps, b.Plan.First = "a …", nil, 0
	inline, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	request := whole().Request
	request.Context = strings.Repeat("long ", 100)
	plan := &brief.Plan{Version: 2, Title: "Report", Steps: []brief.Step{{ID: "a", Title: "A"}, {ID: "b", Title: "B"}, {ID: "c", Title: "C"}, {ID: "x", Title: "X"}}}
	rest, err := json.Marshal(brief.Rest{Request: &request, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	got, err := brief.Read(inline, rest)
	if err != nil {
		t.Fatal(err)
	}
	want := whole()
	want.Request = request
	want.Plan = &brief.Plan{Version: 2, Title: "Report", Steps: []brief.Step{
		{ID: "a", Title: "A", Status: brief.Completed}, {ID: "b", Title: "B", Status: brief.InProgress}, {ID: "c", Title: "C", Status: brief.NotStarted}, {ID: "x", Title: "X"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestABlobWithTheRequestAloneKeepsThePlan(t *testing.T) {
	inline, err := whole().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := brief.Read(inline, json.RawMessage(`{"request":{"goal":"all of it"}}`))
	if err != nil || got.Request.Goal != "all of it" || !reflect.DeepEqual(got.Plan, whole().Plan) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWithoutABriefThereIsNone(t *testing.T) {
	if b, err := brief.Read(nil, nil); b != nil || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	if b, err := brief.Read(nil, json.RawMessage(`{"job":"j"}`)); err != nil || b.Job != "j" {
		t.Errorf("%+v, %v", b, err)
	}
	for _, broken := range [][2]string{{`{"v":"x"}`, ""}, {`{`, ""}, {`{}`, `[]`}} {
		if _, err := brief.Read([]byte(broken[0]), []byte(broken[1])); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func TestOfALongPlanTheStepsAroundTheRunRemain(t *testing.T) {
	long := func(n int) *brief.Brief {
		b := &brief.Brief{Plan: &brief.Plan{}, Place: &brief.Place{N: n, Of: 100}}
		for i := range 100 {
			b.Plan.Steps = append(b.Plan.Steps, brief.Step{ID: "s" + strconv.Itoa(i+1)})
		}
		return b
	}
	for _, test := range []struct {
		n, first    int
		begin, last string
	}{{1, 0, "s1", "s10"}, {6, 0, "s1", "s10"}, {50, 45, "s45", "s54"}, {100, 91, "s91", "s100"}} {
		b := long(test.n)
		b.Complete(nil, 10)
		if p := b.Plan; len(p.Steps) != 10 || p.First != test.first || p.Steps[0].ID != test.begin || p.Steps[9].ID != test.last {
			t.Errorf("around %d: from %d, %v", test.n, p.First, p.Steps)
		}
	}
	b := long(1)
	b.Place = nil
	b.Complete(nil, 3)
	if b.Plan.Steps[0].ID != "s1" || len(b.Plan.Steps) != 3 {
		t.Errorf("%+v", b.Plan)
	}
}

func TestACutIsNeverInTheMiddleOfACharacter(t *testing.T) {
	for _, text := range []string{strings.Repeat("汉字", 50), strings.Repeat("a汉", 50), strings.Repeat("😀", 50), strings.Repeat("é\n", 500)} {
		for most := range 60 {
			for name, cut := range map[string]string{"clip": brief.Clip(text, most), "line": brief.Line(text, most)} {
				if !utf8.ValidString(cut) || len(cut) > max(most, len("…")) || !strings.HasSuffix(cut, "…") {
					t.Errorf("%s at %d: %q", name, most, cut)
				}
			}
		}
	}
}

func TestATitleIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "  two \t words\r\n": "two words", "a\x00b\x1b[31mc": "a b [31mc", "x\u2028y": "x y", "right\u202eleft": "right left",
		strings.Repeat("\n", 5000) + "late": "…",
	} {
		if got := brief.Line(text, 40); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestForWhomTheWorkIsDoneIsSharedByName(t *testing.T) {
	for _, test := range []struct {
		fields []string
		want   string
	}{{nil, ""}, {[]string{"user"}, "ann"}, {[]string{"session", "thread"}, "s1t1"}, {[]string{"session", "thread", "user"}, "s1t1ann"}} {
		b := whole()
		b.Share(test.fields)
		if got := b.Session + b.Thread + b.User; got != test.want {
			t.Errorf("%v: %s", test.fields, got)
		}
	}
}

func TestABlobIsSharedByManyRuns(t *testing.T) {
	rest := &brief.Rest{Plan: &brief.Plan{Steps: []brief.Step{{ID: "a"}, {ID: "b"}}}}
	for _, status := range []brief.Status{brief.Completed, brief.Blocked} {
		b := &brief.Brief{Predecessors: []brief.Step{{ID: "a", Status: status}}}
		b.Complete(rest, 9)
		if b.Plan.Steps[0].Status != status || b.Plan.Steps[1].Status != "" {
			t.Errorf("%+v", b.Plan)
		}
	}
}
