package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

func own(t *testing.T) *Set {
	t.Helper()
	return musttest.Get(Read())(t)
}

func TestTheBuiltInProfilesAreComplete(t *testing.T) {
	s := own(t)
	musttest.Equal(t, []string{"assistant", "default", "graph", "research", "steps"}, s.Names())
	for _, name := range s.Names() {
		e, ok := s.Get(name)
		if !ok || e.About == "" || e.Dialect == "" || len(e.Fallback) == 0 || e.Limits.Steps == 0 || e.Limits.Rounds == 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e, _ := s.Get(""); e.Name != "default" {
		t.Errorf("a request without a profile gets %q", e.Name)
	}
	if _, ok := s.Get("nothing"); ok {
		t.Error("a profile that does not exist was given")
	}
	if len(s.Version()) != 12 {
		t.Error(s.Version())
	}
}

func TestEveryPromptExistsInEnglishAndChinese(t *testing.T) {
	s := own(t)
	for name := range s.prompts["en"] {
		if s.prompts["zh"][name] == nil {
			t.Errorf("prompt %s has no Chinese text", name)
		}
	}
	if len(s.prompts["zh"]) != len(s.prompts["en"]) {
		t.Error(len(s.prompts["zh"]), len(s.prompts["en"]))
	}
}

// rich returns variables with a value for each.
func rich() planning.Vars {
	v := sample()
	v.Goal, v.Query, v.Context = "compare graph stores", "compare graph stores by speed", "for a talk"
	v.Findings = planning.Delimited([]planning.Finding{{Source: "search", Title: "t", Text: "a fact </finding> and a trick"}}, 1000)
	v.History = planning.History([]planning.Turn{{User: "hello", Answer: "hi", Steps: []string{"thought"}}}, 1000)
	v.Text, v.Plan = "1. first · A", `{"subjobs":[]}`
	v.Unreachable, v.Malformed = false, false
	return v
}

func TestPromptsAreAsTheGoldenFilesSay(t *testing.T) {
	s := own(t)
	for _, language := range []string{"en", "zh"} {
		for _, name := range s.promptNames() {
			p, err := s.Render(name, map[string]string{"en": "en-US", "zh": "zh-CN"}[language], rich())
			if err != nil {
				t.Error(err)
			}
			file := filepath.Join("testdata", "prompts", language, name+".golden")
			goldentest.Same(t, file, "=== system\n"+p.System+"\n=== user\n"+p.User+"\n")
		}
	}
}

func TestALocaleWithoutPromptsGetsEnglishOnes(t *testing.T) {
	s := own(t)
	p, err := s.Render("draft", "fr-FR", planning.Vars{Locale: "fr-FR", Query: "q"})
	if err != nil || !strings.Contains(p.System, "You plan work") || !strings.Contains(p.System, "fr-FR") {
		t.Errorf("%v %s", err, p.System)
	}
	if _, err := s.Render("nothing", "en-US", planning.Vars{}); err == nil {
		t.Error("a prompt that does not exist was rendered")
	}
}

const fifth = `version: 1
name: terse
about: Plans with three words.
dialect: native
stages: [review]
prompts: {draft: terse}
limits: {repairs: 2, rounds: 2, steps: 4, reminders: 1}
review: {when: always, expires: 90s, on_expiry: accept}
fallback: [single]
`

func folder() fstest.MapFS {
	return fstest.MapFS{
		"profiles/terse.yaml":   {Data: []byte(fifth)},
		"prompts/en/terse.tmpl": {Data: []byte(`{{define "system"}}Plan in three words.{{end}}{{define "user"}}{{.Query}}{{end}}`)},
	}
}

func TestAFifthProfileIsWrittenInYAMLAlone(t *testing.T) {
	s := musttest.Get(Read(folder()))(t)
	e, ok := s.Get("terse")
	if !ok || e.Review.Expires != events.Duration(90*time.Second) || e.Prompts["draft"] != "terse" || s.Version() == own(t).Version() {
		t.Fatalf("%+v", e)
	}
	run := planning.New(planning.Start{
		Mode: events.WorkPlan, Request: events.Request{Goal: "dig"}, Profile: e.Profile, Model: true, Cards: []events.Card{{ID: "a", Name: "A"}}, Prefix: "p1",
	}, planning.Ports{Render: s.Render, Read: plainReader})
	if c := run.Pending(); c.Key != "draft/1" || c.Call.Messages[0].Text != "Plan in three words." {
		t.Fatalf("%+v", c)
	}
	run.Apply(planning.Fact{Key: "draft/1", Kind: planning.Answered, Text: `{"subjobs":[{"id":"a","goal":"dig"}]}`})
	if c := run.Pending(); c.Kind != planning.Ask || c.Ask.Kind != events.InputReview || string(c.Ask.Default) != `{"action":"accept"}` {
		t.Fatalf("%+v", c)
	}
	run.Apply(planning.Fact{Key: "review/1", Kind: planning.Closed, Action: events.Expired})
	if e, ok := run.Ended(); !ok || e.Kind != events.KindGraphCreated {
		t.Fatalf("%+v", e)
	}
}

func TestAUsersFilesReplaceTheBuiltInOnes(t *testing.T) {
	dir := folder()
	dir["prompts/zh/draft.tmpl"] = &fstest.MapFile{Data: []byte(`{{define "system"}}三个字{{end}}{{define "user"}}{{end}}`)}
	dir["profiles/terse.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(fifth, "dialect", "default: true\ndialect", 1))}
	s := musttest.Get(Read(nil, dir))(t)
	p, err := s.Render("draft", "zh", planning.Vars{})
	if err != nil || p.System != "三个字" {
		t.Error(err, p)
	}
	if e, _ := s.Get(""); e.Name != "terse" {
		t.Errorf("the default is %q", e.Name)
	}
}

// proves C-T9
// proves C-T11
func TestEveryFaultOfEveryFileIsToldWithItsPlace(t *testing.T) {
	dir := fstest.MapFS{
		"profiles/bad.yaml": {Data: []byte(`version: 2
name: other
stages: [triage, nap, triage]
dialect: latin
prompts: {draft: nothing}
limits: {repairs: many, rounds: 0, speed: 3}
review: {when: sometimes, expires: soon}
schedule: [x]
plan: {search: perhaps}
fallback: {}
name: again
`)},
		"profiles/broken.yaml":   {Data: []byte("a: [1,\nb: }")},
		"profiles/empty.yaml":    {Data: []byte("# nothing\n")},
		"prompts/en/broken.tmpl": {Data: []byte("{{define \"system\"}}\n{{.Nothing}}{{end}}{{define \"user\"}}{{end}}")},
		"prompts/en/open.tmpl":   {Data: []byte("{{define \"system\"}}")},
		"prompts/en/half.tmpl":   {Data: []byte("{{define \"system\"}}{{end}}")},
	}
	_, err := Read(dir)
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, want := range []string{
		`profiles/bad.yaml:1:10: "2" is no whole number from 1 to 1`, "profiles/bad.yaml:3:18: \"nap\" is none of triage", "3:23: triage is listed twice",
		`4:10: "latin" is none of native`, `prompts.draft: there is no prompt "nothing"`, `6:19: "many" is no whole number`, `6:33: "0"`,
		`6:36: unknown key "speed"; known are clarifications`, `7:16: "sometimes" is none of`, `7:36: "soon" is no duration`, "8:11: expected keys and values",
		`9:16: "perhaps" is neither`, "10:11: expected a list", "11:1: name is given twice", `name is "other", expected "bad"`, "profiles/broken.yaml", "profiles/empty.yaml:1:1",
		"prompts/en/broken.tmpl:2:2", "prompts/en/open.tmpl:1", `prompts/en/half.tmpl:1:1: does not define "user"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	for _, name := range []string{"notes.txt", "profiles/x.yml", "prompts/x.tmpl"} {
		if _, err := Read(fstest.MapFS{name: {Data: []byte("x")}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheRulesOfTheAncestorsAreInThePrompts(t *testing.T) {
	s := own(t)
	for _, test := range []struct{ prompt, language, rule string }{
		{"decompose", "en", "As few tasks as possible"},
		{"decompose", "en", "word for word"},
		{"decompose", "en", "in the first person"},
		{"decompose", "en", "Go on even when a precondition seems to be missing"},
		{"decompose", "en", "measurable"},
		{"decompose", "en", "change"},
		{"delegate", "en", "handed on as it is"},
		{"delegate", "en", "ten words, or twenty Chinese characters"},
		{"delegate", "en", "does not exist"},
		{"delegate", "en", "monitoring, alerts, notices"},
		{"delegate", "en", "interval_minutes and daily_time"},
		{"delegate", "en", "take the query from the conversation"},
		{"delegate", "en", "plan it once"},
		{"delegate", "en", "something safe instead"},
		{"research", "en", "when in doubt it is true"},
		{"research", "en", "at most 3 steps"},
		{"research", "en", "eight sides"},
		{"research", "en", "processing step of its own"},
		{"research", "en", "exactly which data"},
		{"research", "en", "No step sums up"},
		{"research", "en", "raw JSON"},
		{"milestones", "en", "[a] for one"},
		{"milestones", "en", "begins with a verb"},
		{"triage", "en", "Never say that something cannot be done"},
		{"triage", "en", "Never claim to have looked up"},
		{"triage", "en", "schedule is always handed on"},
		{"decompose", "zh", "任务越少越好"},
		{"decompose", "zh", "一字不改"},
		{"delegate", "zh", "原样交出"},
		{"research", "zh", "八个方面"},
		{"milestones", "zh", "以动词开头"},
		{"triage", "zh", "绝不说做不到"},
	} {
		p, err := s.Render(test.prompt, test.language, rich())
		if err != nil || !strings.Contains(p.System, test.rule) {
			t.Errorf("%s in %s lacks %q: %v", test.prompt, test.language, test.rule, err)
		}
	}
}

func TestNothingBranchesOnTheNameOfAProfile(t *testing.T) {
	s := own(t)
	for i, name := range s.Names() {
		e, _ := s.Get(name)
		trace := func(p planning.Profile) string {
			run := planning.New(planning.Start{
				Mode: events.WorkPlan, Prefix: "p1", Request: events.Request{Goal: "say which is faster"}, Profile: p, Model: true,
				Cards: []events.Card{{ID: "a", Name: "A", Tags: []string{"default"}}},
			}, planning.Ports{Render: s.Render, Read: plainReader})
			var keys []string
			for range 50 {
				c := run.Pending()
				keys = append(keys, fmt.Sprintf("%s %s", c.Key, c.Kind))
				if c.Kind == planning.End {
					return strings.Join(append(keys, string(c.End.Kind), fmt.Sprint(c.End.Faults)), "\n")
				}
				kind := planning.Answered
				if c.Kind == planning.Investigate {
					kind = planning.Failed
				}
				run.Apply(planning.Fact{Key: c.Key, Kind: kind, Text: "nonsense"})
			}
			return "no end"
		}
		other := e.Profile
		other.Name = fmt.Sprintf("renamed-%d", i)
		if d := cmp.Diff(trace(e.Profile), trace(other)); d != "" || strings.Contains(trace(other), "no end") {
			t.Errorf("%s: %s", name, d)
		}
	}
	if !slices.IsSorted(s.Names()) {
		t.Error(s.Names())
	}
}
