package program_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

var helper sandbox.Helper

func TestMain(m *testing.M) {
	helper = sandbox.Hook()
	if len(os.Args) > 1 && os.Args[1] == besideArgument {
		line := os.NewFile(3, "line")
		said, err := bufio.NewReader(line).ReadString('\n')
		_, _ = fmt.Fprintf(line, "heard %q %v, itself: %v", said, err, alone()) // The test sees it.
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// execute runs a script of the shell without a keeper.
func execute(ctx context.Context, t *testing.T, r program.Runner, script string, said func(string)) (program.Result, error) {
	t.Helper()
	box := musttest.Get(sandbox.NewBoxes(helper).Open(sandbox.BestEffort))(t)
	r.Box, r.Path, r.Grace = box, "/usr/local/bin:/usr/bin:/bin", 100*time.Millisecond
	dir := t.TempDir()
	task := &expert.Task{Work: &events.Work{}, Log: slog.New(slog.DiscardHandler)}
	return r.Run(ctx, task, program.Order{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Temp: filepath.Join(dir, ".tmp"), Timeout: 20 * time.Second, Said: said})
}

func TestOutputIsKeptInOrderAndPassedOnInWholeCharacters(t *testing.T) {
	var said []string
	got, err := execute(t.Context(), t, program.Runner{}, `printf 'a\303'; sleep 0.2; printf '\274b\n'; echo err >&2; echo end; exit 7`, func(text string) { said = append(said, text) })
	if err != nil || got.Output != "aüb\nerr\nend\n" || got.Code != 7 || got.Ended != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if strings.Join(said, "") != got.Output || said[0] != "a" {
		t.Errorf("passed on: %q", said)
	}
}

func TestLongOutputKeepsBothEnds(t *testing.T) {
	got, err := execute(t.Context(), t, program.Runner{}, `echo first; i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo last`, nil)
	if err != nil || !strings.HasPrefix(got.Output, "first\n") || !strings.HasSuffix(got.Output, "last\n") || len(got.Output) > program.MostShown+100 ||
		!strings.Contains(got.Output, " bytes left out]\n") {
		t.Errorf("got %d bytes, %.40q, %v", len(got.Output), got.Output, err)
	}
}

func TestAProgramIsEndedForWhatItMayNot(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"flood":     {`exec yes`, "it printed more than"},
		"workspace": {`head -c 3000000 /dev/zero >big; sleep 20`, "the workspace held more than 1000000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := sandbox.Limits{}
			if name == "workspace" {
				limits.Workspace = 1_000_000
			}
			got, err := execute(t.Context(), t, program.Runner{Policy: sandbox.Policy{Limits: limits}}, test.script, nil)
			if err != nil || !strings.Contains(got.Ended, test.want) {
				t.Errorf("got %+v, %v", got.Ended, err)
			}
		})
	}
}

func TestACancelledProgramHasNoResult(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err := execute(ctx, t, program.Runner{}, `echo up; exec sleep 20`, func(string) { cancel(stopped) })
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreRemovedEvenWhenTheyArePrintedInPieces(t *testing.T) {
	secrets := redact.NewSet()
	secrets.Add("topsecret-4711-Ab")
	var said strings.Builder
	got, err := execute(t.Context(), t, program.Runner{Secrets: secrets}, `printf 'x topse'; sleep 0.1; printf 'cret-4711-Ab y\n'`, func(text string) { said.WriteString(text) })
	if err != nil || strings.Contains(got.Output+said.String(), "4711-Ab") || !strings.HasSuffix(got.Output, " y\n") {
		t.Errorf("got %q, passed on %q, %v", got.Output, said.String(), err)
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	r := program.Runner{Path: "/usr/bin:/bin"}
	if _, err := r.Find("no-such-program"); !errors.Is(err, program.ErrAbsent) || !strings.Contains(err.Error(), "/usr/bin:/bin") {
		t.Errorf("got %v", err)
	}
}
