package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The command in each example's README does what the README says, with the scripted model.
func TestExamplesDoWhatTheirReadmeSays(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, example := range []struct {
		name  string
		shows []string            // Regular expressions that the output matches.
		files map[string][]string // What the artifacts contain.
	}{
		{"bugfix", []string{`job FINISHED  1/1`, `Before: 6 cases, 2 failed\. Now: 6 cases, 0 failed\.`}, map[string][]string{
			"main/fix.patch":        {"-\treturn part[1] * 100 + part[2]", "+\treturn (negative ? -1 : 1) * (part[1] * 100 + part[2])"},
			"main/ledger/cents.awk": {"negative = sub("},
		}},
		{"report", []string{
			`completed step_1  researcher`, `completed step_2  analyst`, `\(https://town\.example/council/2026-03\)\n`,
			`\(https://town\.example/council/2026-05\)\n`, `\(https://energy\.example/schools\) \(not verified\)`,
		}, nil},
		{"sales", []string{`West grew by 63\.0 percent`, `artifact  main/revenue\.svg .* image/svg`}, map[string][]string{
			"main/findings.md": {"| South | 31155 | 23865 | -23.4 % |", "| West | 19320 | 31485 | +63.0 % |", "2025-05, West, lamp"},
			"main/revenue.svg": {"<svg ", ">North</text>", ">South</text>", ">West</text>", "</svg>"},
		}},
	} {
		t.Run(example.name, func(t *testing.T) {
			into := t.TempDir()
			p := launch(exampleEnv(t), nil, exampleCommands(t, example.name, into)[0]...)
			if code := <-p.code; code != 0 {
				t.Fatalf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
			}
			for _, want := range example.shows {
				if !regexp.MustCompile(want).MatchString(p.stdout.String()) {
					t.Errorf("%q is not shown:\n%s", want, p.stdout.String())
				}
			}
			for name, wanted := range example.files { // any order: each is checked by itself.
				text, err := os.ReadFile(filepath.Join(into, filepath.FromSlash(name)))
				if err != nil {
					t.Error(err)
				}
				for _, want := range wanted {
					if !strings.Contains(string(text), want) {
						t.Errorf("%s does not contain %q:\n%s", name, want, text)
					}
				}
			}
		})
	}
}

// A model that repeats itself ends the job with the reason; one that floods its output is warned and goes on.
func TestTheCoderEndsWhateverItsModelDoes(t *testing.T) {
	request := filepath.Join(t.TempDir(), "job.yaml")
	musttest.Do(t, os.WriteFile(request, []byte("goal: Fix it\nexpert: Coder\nlimits: {retries: 0}\n"), 0o600))
	loop := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "run", Args: `{"command":"exit 1"}`}}}, nil
	}))
	o := fromOutside(t, loop, "run", "--embedded", "-f", request)
	if o.code != cli.ExitFailed || !strings.Contains(o.stderr, "the model repeats itself") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	flood := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if q.Last("tool") == "" {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "run", Args: `{"command":"yes"}`}}}, nil
		}
		said := q.Last("tool")
		return llmtest.Answer{Text: "<deliverable>Seen: " + strings.ReplaceAll(said[max(0, len(said)-100):], "\n", " ") + "</deliverable>"}, nil
	}))
	o = fromOutside(t, flood, "run", "--embedded", "-f", request)
	if o.code != cli.ExitOK || !strings.Contains(o.stdout, "[ended: it printed more than 67108864 bytes") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

// exampleEnv returns an environment without any settings of the person who runs the test.
func exampleEnv(t *testing.T) func(name string) (string, bool) {
	t.Helper()
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort", "TZ": "UTC"}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// exampleCommands are the commands of a README that run a job, without the program's name; artifacts go into a folder.
func exampleCommands(t *testing.T, name, into string) (commands [][]string) {
	t.Helper()
	readme := musttest.Get(os.ReadFile(filepath.Join("examples", name, "README.md")))(t)
	for line := range strings.Lines(string(readme)) {
		command, is := strings.CutPrefix(line, "jobgraph run ")
		if !is {
			continue
		}
		args := []string{"run"}
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(command, -1) {
			if args[len(args)-1] == "--artifacts" {
				word = into
			}
			args = append(args, strings.Trim(word, `"`))
		}
		commands = append(commands, args)
	}
	if len(commands) == 0 {
		t.Fatalf("the README of %s has no command", name)
	}
	return commands
}

// The requests from the documentation of predecessor systems end as they did there, each with one command.
func TestTheRequestsOfTheAncestorsAreAnswered(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	wanted := []string{"Liu Bei stands in the middle", "A troy ounce", "(https://example.org/gold)", "Plan completed:"}
	commands := exampleCommands(t, "profiles", "")
	if len(commands) != len(wanted) {
		t.Fatalf("%d commands", len(commands))
	}
	for n, args := range commands {
		p := launch(exampleEnv(t), nil, args...)
		if code := <-p.code; code != cli.ExitOK || !strings.Contains(p.stdout.String(), wanted[n]) {
			t.Errorf("%v: exit code %d, no %q: %s%s", args, code, wanted[n], p.stdout.String(), p.stderr.String())
		}
	}
}

// The report finds its figures in a base of knowledge: its conversation begins with passages, and it opens one document.
func TestTheReportReadsABaseOfKnowledge(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort"}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	stop, where := startUp(t, env, []string{"--model", "fake:examples/report/knowledge-model.yaml"})
	defer stop()
	vars["NATS_URL"] = where
	readme := musttest.Get(os.ReadFile("examples/report/README.md"))(t)
	_, add, found := strings.Cut(string(readme), "\njobgraph knowledge add ")
	add, _, _ = strings.Cut(add, "\n")
	for _, args := range [][]string{append([]string{"knowledge", "add"}, strings.Fields(add)...), exampleCommands(t, "report", "")[1]} {
		p := launch(env, nil, args...)
		code := <-p.code
		if code != cli.ExitOK || !found {
			t.Fatalf("%v: exit code %d: %s%s", args, code, p.stdout.String(), p.stderr.String())
		}
		if out := p.stdout.String(); args[0] == "run" && (!strings.Contains(out, "in place of 212,000 kWh of gas") || !strings.Contains(out, "council/2026-05)") || strings.Contains(out, "not verified")) {
			t.Error(out)
		}
	}
}

// If no program can be run, an embedded run says so before it asks a model.
func TestARunSaysFirstThatNoProgramCanBeRun(t *testing.T) {
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort", "JOBGRAPH_COMMAND_PATH": "/nonexistent"}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	p := launch(env, nil, "run", "--embedded", "--model", "fake", "--expert", "coder", "Count")
	code := <-p.code
	if said := p.stderr.String(); code != cli.ExitOK || strings.Count(said, "agents run no programs on this machine: needs a shell in the path of programs") != 1 {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), said)
	}
	vars["JOBGRAPH_COMMAND_PATH"] = "/usr/local/bin:/usr/bin:/bin"
	p = launch(env, nil, "run", "--embedded", "--model", "fake", "--expert", "coder", "Count")
	if code := <-p.code; code != cli.ExitOK || strings.Contains(p.stderr.String(), "agents run no programs") {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
}
