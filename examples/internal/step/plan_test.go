package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/scan"
	"github.com/jobgraph/jobgraph/examples/internal/step"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

type work = func(context.Context, task.Task) (any, error)

// node is a step of either plan.
type node struct {
	ID             string   `json:"id"`
	Goal           string   `json:"goal"`
	Criteria       string   `json:"completion_criteria"`
	Dependencies   []string `json:"dependencies"`
	Expert         string   `json:"expert"`
	AssignedExpert string   `json:"assigned_expert"`
}

// experts reads the cards. It returns, by the expert's name, the function that its program runs.
func experts(t *testing.T) map[string]work {
	t.Helper()
	programs := map[string]work{
		"survey": step.Survey, "extract": step.Extract(""), "extract -only code": step.Extract(scan.Code),
		"extract -only text": step.Extract(scan.Text), "rank": step.Rank, "rank -report": step.Analyse, "report": step.Report,
	}
	cards, err := filepath.Glob("../../inventory/experts/*.md")
	if err != nil || len(cards) != len(programs) {
		t.Fatalf("%d cards for %d programs, error %v", len(cards), len(programs), err)
	}
	found := map[string]work{}
	for _, card := range cards {
		name, command := field(t, card, "name: "), field(t, card, "command: ")
		var argv []string
		if err := json.Unmarshal([]byte(command), &argv); err != nil {
			t.Fatalf("%s: %v", card, err)
		}
		folder, program := filepath.Split(filepath.Join(filepath.Dir(card), argv[0]))
		if filepath.Clean(folder) != filepath.Clean("../../bin") {
			t.Errorf("%s runs a program in %s", card, folder)
		}
		key := strings.Join(append([]string{program}, argv[1:]...), " ")
		if programs[key] == nil {
			t.Fatalf("%s runs %q, which is no program here", card, key)
		}
		found[name] = programs[key]
	}
	return found
}

func field(t *testing.T, file, prefix string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return strings.Trim(value, `"`)
		}
	}
	t.Fatalf("%s has no %q", file, prefix)
	return ""
}

// nativePlan and foreignPlan read the two dialects of the inventory job.
func nativePlan(t *testing.T) []node {
	var job struct {
		Plan struct {
			Subjobs []node `json:"subjobs"`
		} `json:"plan"`
	}
	readJSON(t, "../../inventory/job.json", &job)
	return job.Plan.Subjobs
}

func foreignPlan(t *testing.T) []node {
	var steps map[string]node
	readJSON(t, "../../inventory/plan.chat2graph.json", &steps)
	var plan []node
	for _, id := range []string{"subtask_1", "subtask_2", "subtask_3"} {
		n := steps[id]
		n.ID, n.Expert = id, n.AssignedExpert
		plan = append(plan, n)
	}
	return plan
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// follow does the steps of a plan in their order, as a runner would, and returns the reports.
func follow(t *testing.T, plan []node, inputs map[string]string, skip ...string) map[string]task.Report {
	t.Helper()
	reports, experts := map[string]task.Report{}, experts(t)
	for _, n := range plan {
		if experts[n.Expert] == nil || n.Goal == "" || n.Criteria == "" {
			t.Fatalf("step %+v has no goal, no criteria or an expert without a card", n)
		}
		results := map[string]any{}
		for _, id := range n.Dependencies {
			results[id] = map[string]any{"output": reports[id].Output, "skipped": slices.Contains(skip, id)}
		}
		if slices.Contains(skip, n.ID) {
			continue
		}
		in, err := json.Marshal(map[string]any{"subjob": n.ID, "goal": n.Goal, "inputs": inputs, "results": results, "workspace": t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		task.Run(t.Context(), bytes.NewReader(in), &out, &bytes.Buffer{}, experts[n.Expert])
		var r task.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		reports[n.ID] = r
	}
	return reports
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBothPlansEndWithAReportOnARealFolder(t *testing.T) {
	for name, plan := range map[string][]node{"native": nativePlan(t), "chat2graph": foreignPlan(t)} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			source, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			reports := follow(t, plan, map[string]string{"path": source, "out": out})
			for id, r := range reports {
				if r.Outcome != task.Success {
					t.Errorf("%s: %+v", id, r)
				}
			}
			text, err := os.ReadFile(filepath.Join(out, "report.md"))
			if err != nil || !strings.Contains(string(text), "`graph.Builder`") && !strings.Contains(string(text), "`Builder`") {
				t.Errorf("report %.200q, error %v", text, err)
			}
			if _, err := os.Stat(filepath.Join(out, "graph.svg")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAFolderWithoutSourcesIsReportedFromItsTexts(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# Salt\n\nSalt Lake City sells salt.\n\nSalt Lake City again.\n"})
	out := t.TempDir()
	reports := follow(t, nativePlan(t), map[string]string{"path": dir, "out": out}, "extract-code")
	if r := reports["report"]; r.Outcome != task.Success {
		t.Errorf("got %+v", r)
	}
	reports = follow(t, foreignPlan(t), map[string]string{"path": dir, "out": out})
	if r := reports["subtask_3"]; r.Outcome != task.Success {
		t.Errorf("got %+v", r)
	}
}

func TestAStepThatLacksItsInputSaysWhatToGive(t *testing.T) {
	empty := tree(t, map[string]string{"a.bin": "\x00"})
	odd := `{"results":{"x":{"output":{"words":3}}},"subjob":"me"}`
	for name, c := range map[string]struct {
		work work
		in   string
		want string
	}{
		"survey of nothing":     {step.Survey, `{"inputs":{"path":"` + empty + `"}}`, "give another folder"},
		"survey without path":   {step.Survey, `{}`, "--input path="},
		"extract of nothing":    {step.Extract(""), `{"inputs":{"path":"` + empty + `"}}`, "give another folder"},
		"extract, root is gone": {step.Extract(""), `{"results":{"s":{"output":{"root":"/nowhere/at/all","chosen":[]}}}}`, "survey it again"},
		"extract, files gone":   {step.Extract(""), `{"results":{"s":{"output":{"root":"` + empty + `","chosen":[{"path":"b.md","kind":"text"}]}}}}`, "choose files that exist"},
		"extract, wrong kind":   {step.Extract(scan.Code), `{"results":{"s":{"output":{"root":"` + empty + `","chosen":[]}}}}`, "lists no code file"},
		"rank of nothing":       {step.Rank, odd, "depend on a step that extracts"},
		"rank of empty graphs":  {step.Rank, `{"results":{"x":{"output":{"entities":[],"relations":[]}}}}`, "give another folder"},
		"rank of broken graph":  {step.Analyse, `{"results":{"x":{"output":{"entities":7}}}}`, `result of "x"`},
		"report of nothing":     {step.Report, odd, "depend on the step that ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := task.Run(t.Context(), strings.NewReader(c.in), &out, &errs, c.work)
			var r task.Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if code != 0 || r.Outcome != task.InputDataError || !strings.Contains(r.Lesson, c.want) {
				t.Errorf("exit code %d, got %+v, want a lesson with %q", code, r, c.want)
			}
		})
	}
}

func TestRelationsToNobodyDoNotBreakTheAnalysis(t *testing.T) {
	in := `{"results":{"x":{"output":{"entities":[{"id":"a","kind":"type","name":"a"}],"relations":[{"from":"a","to":"b","kind":"calls","weight":-4}]}}}}`
	var out, errs bytes.Buffer
	task.Run(t.Context(), strings.NewReader(in), &out, &errs, step.Rank)
	if !strings.Contains(out.String(), `"entities":1,"relations":0`) {
		t.Errorf("got %s %s", out.String(), errs.String())
	}
}
