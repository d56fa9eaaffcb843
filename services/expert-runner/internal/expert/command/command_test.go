package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// helper starts the sandboxes of tests; keeper starts their programs.
var (
	helper sandbox.Helper
	keeper *process.Keeper
)

func TestMain(m *testing.M) {
	helper = sandbox.Hook()
	if role := os.Getenv(roleKey); role != "" {
		os.Exit(play(role))
	}
	keeper = process.NewKeeper(helper.Keeps(), time.Hour)
	goleak.VerifyTestMain(kept{m})
}

// kept runs tests with a keeper.
type kept struct{ *testing.M }

// Run implements goleak.TestingM.
func (k kept) Run() int {
	defer keeper.Close()
	return k.M.Run()
}

func task() *expert.Task {
	return &expert.Task{
		Work: &events.Work{Job: "j1", SubJob: "a", Run: 2, Attempt: 1, Goal: "do it", IdempotencyKey: "j1/a/2"},
		Log:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Payload: func(_ context.Context, ref events.Ref, w io.Writer) error {
			if ref.Digest == "gone" {
				return &events.Fault{Code: events.CodeMissingBlob, Message: "a payload is gone"}
			}
			_, err := io.WriteString(w, "content of "+ref.Digest)
			return err
		},
	}
}

// shell runs a script as an expert.
func shell(ctx context.Context, t *testing.T, c command.Config, in *expert.Task, script string) *events.SubJobReported {
	t.Helper()
	c.Argv, c.Keeper = []string{"/bin/sh", "-c", script}, keeper
	if c.Workspaces == "" {
		c.Workspaces = t.TempDir()
	}
	x := musttest.Get(command.New(c))(t)
	e := x.Run(ctx, in)
	if e.Report == nil {
		t.Fatalf("ending without a report: %+v", e)
	}
	if left, err := os.ReadDir(c.Workspaces); err != nil || len(left) > 0 && !c.KeepFailed {
		t.Errorf("left in the folder of workspaces: %v %v", left, err)
	}
	return e.Report
}

func TestOutputAndExitCodeMakeTheReport(t *testing.T) {
	t.Run("without a sandbox", func(t *testing.T) { reports(t, command.Config{Stdout: 1 << 20}) })
	inBoxes(t, func(t *testing.T, box *sandbox.Box) { reports(t, command.Config{Stdout: 1 << 20, Box: box}) })
}

// reports runs a script for each way to report.
func reports(t *testing.T, c command.Config) {
	t.Helper()
	tests := map[string]struct {
		script  string
		outcome events.Outcome
		output  string
		code    events.Code
		lesson  string
	}{
		"JSON":                  {`echo '{"a": 1}'`, events.Success, `{"a":1}`, "", ""},
		"text":                  {`echo 'a "word"'; echo`, events.Success, `"a \"word\""`, "", ""},
		"nothing":               {`true`, events.Success, ``, "", ""},
		"a report":              {`echo '{"outcome":"JOB_TOO_COMPLICATED_ERROR","lesson":"split it"}'`, events.TooComplicated, ``, "", "split it"},
		"a report and an error": {`echo '{"outcome":"INPUT_DATA_ERROR","lesson":"l","error":"e"}'; exit 1`, events.InputDataError, ``, events.CodeExecution, "l"},
		"success but exit 1":    {`echo '{"outcome":"SUCCESS","output":1}'; echo no >&2; exit 1`, events.ExecutionError, ``, events.CodeExecution, "the program ended with exit code 1: no"},
		"exit 65":               {`echo 'no rows' >&2; exit 65`, events.InputDataError, ``, events.CodeInputData, "no rows"},
		"a broken report":       {`echo '{"outcome":5}'`, events.ExecutionError, ``, events.CodeMalformed, ""},
		"killed":                {`kill -9 $$`, events.ExecutionError, ``, events.CodeExecution, "the program was killed by killed"},
		"too much":              {`head -c 2000000 /dev/zero`, events.ExecutionError, ``, events.CodeTooLarge, ""},
		"a flood for ever":      {`while :; do echo flood; done`, events.ExecutionError, ``, events.CodeTooLarge, ""},
		"stdin closed early":    {`exec 0<&-; echo 1`, events.Success, `1`, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := task()
			in.Work.Context = strings.Repeat("x", 200_000) // More than a pipe holds.
			got := shell(t.Context(), t, c, in, test.script)
			code := events.Code("")
			if got.Error != nil {
				code = got.Error.Code
			}
			if got.Outcome != test.outcome || string(got.Output) != test.output || code != test.code {
				t.Errorf("got %s %q %q", got.Outcome, got.Output, code)
			}
			if test.lesson != "" && got.Lesson != test.lesson {
				t.Errorf("lesson %q, want %q", got.Lesson, test.lesson)
			}
		})
	}
}

func TestBytesThatAreNoTextAreHandedOnAsTheyAre(t *testing.T) {
	got := shell(t.Context(), t, command.Config{}, task(), `printf '\377\000\001'`)
	if string(got.Output) != "\xff\x00\x01" || got.OutputRef == nil || got.OutputRef.MediaType != "application/octet-stream" {
		t.Errorf("got %q %+v", got.Output, got.OutputRef)
	}
}

func TestTheProgramReadsOneObject(t *testing.T) {
	in := task()
	in.Work.Inputs = map[string]json.RawMessage{"path": json.RawMessage(`"x"`)}
	in.Work.Results = map[string]events.Result{
		"p": {Output: json.RawMessage(`[1]`)}, "q": {Skipped: true},
		"r": {OutputRef: &events.Ref{Digest: "d1", MediaType: "application/octet-stream"}},
	}
	in.Work.Attachments = []events.Ref{{Digest: "d2", Name: "../../etc/passwd"}}
	in.Work.Lessons = []string{"look twice"}
	got := shell(t.Context(), t, command.Config{}, in, `cat`)
	var read struct {
		Job, SubJob, Goal, Workspace string
		Run                          int
		Inputs                       map[string]string
		Lessons                      []string
		Results                      map[string]struct {
			Output  []int
			File    *struct{ Path string }
			Skipped bool
		}
		Attachments []struct{ Path string }
	}
	musttest.Decode(t, got.Output, &read)
	if read.Job != "j1" || read.SubJob != "a" || read.Run != 2 || read.Inputs["path"] != "x" || read.Lessons[0] != "look twice" {
		t.Errorf("read %+v", read)
	}
	if !read.Results["q"].Skipped || read.Results["p"].Output[0] != 1 {
		t.Errorf("results %+v", read.Results)
	}
	for _, path := range []string{read.Results["r"].File.Path, read.Attachments[0].Path} {
		if !strings.HasPrefix(path, read.Workspace+"/") {
			t.Errorf("%s is not in the workspace", path)
		}
	}
}

func TestTheEnvironmentIsClean(t *testing.T) {
	t.Setenv("SECRET", "of the runner")
	got := shell(t.Context(), t, command.Config{Env: map[string]string{"MODE": "fast"}}, task(), `env; pwd; ls -A`)
	var text string
	musttest.Decode(t, got.Output, &text)
	keys := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if key, _, ok := strings.Cut(line, "="); ok {
			keys[key] = true
		}
	}
	for _, key := range []string{"_", "PWD", "SHLVL", "OLDPWD"} {
		delete(keys, key) // Set by the shell itself.
	}
	want := []string{
		"HOME", "JOBGRAPH_ATTEMPT", "JOBGRAPH_IDEMPOTENCY_KEY", "JOBGRAPH_JOB", "JOBGRAPH_LOCALE", "JOBGRAPH_RUN",
		"JOBGRAPH_SESSION", "JOBGRAPH_SUBJOB", "JOBGRAPH_THREAD", "JOBGRAPH_USER", "JOBGRAPH_WORKSPACE", "LANG", "MODE", "PATH", "TMPDIR",
	}
	musttest.Equal(t, want, slices.Sorted(maps.Keys(keys)))
}

func TestAProgramKnowsTheTraceOfItsRun(t *testing.T) {
	run := task()
	run.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got := shell(t.Context(), t, command.Config{}, run, `printf %s "$TRACEPARENT"`)
	var text string
	musttest.Decode(t, got.Output, &text)
	if text != run.Trace {
		t.Errorf("%q", text)
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), nil) && !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// gone waits for the end of a killed process.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("process %d is left", pid)
		}
	}
}

// pids waits until the script has written a process id into each file.
func pids(t *testing.T, dir string, names ...string) []int {
	t.Helper()
	var list []int
	for _, name := range names {
		for {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if pid, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
				list = append(list, pid)
				break
			}
			select {
			case <-time.After(time.Millisecond):
			case <-t.Context().Done():
				t.Fatal("the script wrote nothing")
			}
		}
	}
	return list
}

// A cooperative program has an hour, so that only its own end can end the test; an uncooperative one has almost no time.
func TestTheEndOfARunLeavesNobodyOfItsGroup(t *testing.T) {
	tests := map[string]struct {
		script string
		grace  time.Duration
	}{
		"a willing program":               {`echo $$ >D/1; sleep 600 & echo $! >D/2; wait`, time.Hour},
		"one that ignores the signal":     {`trap '' TERM; echo $$ >D/1; sleep 600 & echo $! >D/2; while :; do sleep 600; done`, 100 * time.Millisecond},
		"grandchildren that hold stdout":  {`echo $$ >D/1; (trap '' TERM; echo in >D/3; sleep 600) & echo $! >D/2; wait`, time.Hour},
		"one that floods standard output": {`echo $$ >D/1; (while :; do echo x; done) & echo $! >D/2; wait`, time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan *events.SubJobReported)
			go func() {
				c := command.Config{Grace: test.grace, Stdout: 1 << 40}
				done <- shell(ctx, t, c, task(), strings.ReplaceAll(test.script, "D/", dir+"/"))
			}()
			running := pids(t, dir, "1", "2")
			cancel()
			<-done
			for _, pid := range running {
				gone(t, pid)
			}
		})
	}
}

// A child that sleeps for an hour holds its pipes: waiting for it would exceed the test's time limit.
func TestChildrenThatOutliveTheProgramAreKilled(t *testing.T) {
	dir := t.TempDir()
	got := shell(t.Context(), t, command.Config{}, task(), `sleep 3600 & echo $! >`+dir+`/1; echo 7`)
	if string(got.Output) != "7" {
		t.Errorf("got %s", got.Output)
	}
	gone(t, pids(t, dir, "1")[0])
}

func TestWorkspacesAreRemovedOrKept(t *testing.T) {
	got := shell(t.Context(), t, command.Config{}, task(), `mkdir -p a/b; touch a/b/c; chmod 0 a/b a; echo 1`)
	if string(got.Output) != "1" {
		t.Errorf("report: %+v", got)
	}
	parent := t.TempDir()
	shell(t.Context(), t, command.Config{KeepFailed: true, Workspaces: parent}, task(), `touch evidence; exit 3`)
	found, err := filepath.Glob(filepath.Join(parent, "*", "evidence"))
	if err != nil || len(found) != 1 {
		t.Errorf("kept: %v %v", found, err)
	}
}

func TestAMissingPayloadKeepsItsCode(t *testing.T) {
	in := task()
	in.Work.Attachments = []events.Ref{{Digest: "gone"}}
	if got := shell(t.Context(), t, command.Config{}, in, `true`); got.Error == nil || got.Error.Code != events.CodeMissingBlob {
		t.Errorf("report: %+v", got)
	}
}

func TestArtifactsThatCannotStandBesideEachOtherGoBackWithBothNames(t *testing.T) {
	in := task()
	in.Work.Results = map[string]events.Result{"make": {Artifacts: []events.Ref{{Name: "data"}, {Name: "data/a.csv"}}}}
	in.Payload = func(context.Context, events.Ref, io.Writer) error { return nil }
	got := shell(t.Context(), t, command.Config{}, in, `true`)
	if got.Outcome != events.InputDataError || got.Error == nil || got.Error.Code != events.CodeInputData || got.Lesson != got.Error.Error() {
		t.Fatalf("report: %+v", got)
	}
	for _, part := range []string{"results.make.artifacts", `"data"`, `"data/a.csv"`} {
		if !strings.Contains(got.Lesson, part) {
			t.Errorf("no %s in %q", part, got.Lesson)
		}
	}
}

func TestABadConfigurationSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "plain"), "x")
	tests := map[string]struct {
		config command.Config
		want   string
	}{
		"nothing":        {command.Config{}, "give the program"},
		"absent":         {command.Config{Argv: []string{"./absent"}, Dir: dir}, "does not exist"},
		"not executable": {command.Config{Argv: []string{"./plain"}, Dir: dir}, "not executable"},
		"not in PATH":    {command.Config{Argv: []string{"no-such-program"}}, "is in none of"},
		"a bad variable": {command.Config{Argv: []string{"sh"}, Env: map[string]string{"A=B": ""}}, "a name has no ="},
		"a zero byte":    {command.Config{Argv: []string{"sh", "\x00"}}, "zero byte"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := command.New(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

// lost is a claim that another runner has taken.
type lost struct{}

func (lost) Confirm(context.Context) error { return errors.New("the run was taken over") }

func (lost) Renewed(func()) (stop func()) { return func() {} }

func TestAProgramIsNotBegunForARunThatIsLost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "begun")
	in := task()
	in.Claim = lost{}
	got := shell(t.Context(), t, command.Config{}, in, `: >`+file)
	if got.Outcome != events.ExecutionError || got.Error.Cause != "the run was taken over" {
		t.Errorf("got %+v %+v", got, got.Error)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was begun")
	}
}
