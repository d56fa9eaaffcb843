package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// shelf stores files in memory.
type shelf struct {
	kept []string
	err  error
}

// leave runs work that leaves files behind and returns the report.
func leave(t *testing.T, s *shelf, patterns []string, fill func(dir string)) *events.SubJobReported {
	t.Helper()
	in := &expert.Task{Log: slog.New(slog.DiscardHandler), Keep: func(_ context.Context, file io.ReadSeeker) (events.Ref, error) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return events.Ref{}, err
		}
		sum := sha256.New()
		text, err := io.ReadAll(io.TeeReader(file, sum))
		if err = errors.Join(err, s.err); err != nil {
			return events.Ref{}, err
		}
		s.kept = append(s.kept, string(text))
		return events.Ref{Digest: hex.EncodeToString(sum.Sum(nil)), Size: int64(len(text))}, nil
	}}
	parent := t.TempDir()
	e := With(t.Context(), in, Settings{Parent: parent, Artifacts: patterns}, func(dir string) task.Ending {
		fill(dir)
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: 7}}}
	})
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if e.Report.Tokens != 7 {
		t.Errorf("what the run has cost is lost: %+v", e.Report)
	}
	return e.Report
}

func TestFilesThatPatternsNameAreStoredAndReported(t *testing.T) {
	fill := func(dir string) {
		for _, name := range []string{"out/b.json", "out/deep/er/a.unheardof", "top.csv", "sub/low.csv", "attachments/in.csv", "results/r.csv", "artifacts/x/in.csv", ".tmp/t.csv"} {
			musttest.Write(t, filepath.Join(dir, name), name)
		}
		musttest.Write(t, filepath.Join(dir, "out/empty"), "")
	}
	tests := map[string][]string{
		"out/**":              {"b.json", "deep/er/a.unheardof", "empty"},
		"*.csv":               {"top.csv"},
		"**/*.csv":            {"sub/low.csv", "top.csv"},
		"out/*.json,sub/?ow*": {"b.json", "sub/low.csv"},
		"out/deep/**/a.*":     {"deep/er/a.unheardof"},
		"nothing":             nil,
		"**":                  {"b.json", "deep/er/a.unheardof", "empty", "sub/low.csv", "top.csv"},
	}
	for patterns, want := range tests {
		s := &shelf{}
		r := leave(t, s, strings.Split(patterns, ","), fill)
		var got []string
		for _, ref := range r.Artifacts {
			got = append(got, ref.Name)
		}
		if d := cmp.Diff(want, got); d != "" || r.Outcome != events.Success {
			t.Errorf("%s: %s %+v", patterns, d, r.Error)
		}
		if len(s.kept) != len(want) {
			t.Errorf("%s: stored %q", patterns, s.kept)
		}
	}
	s := &shelf{}
	refs := leave(t, s, DefaultArtifacts(), fill).Artifacts
	want := events.Ref{Name: "b.json", Size: 10, MediaType: "application/json", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte("out/b.json")))}
	if d := cmp.Diff(want, refs[0]); d != "" || !strings.HasPrefix(refs[1].MediaType, "text/plain") {
		t.Errorf("%s\n%+v", d, refs)
	}
	if s = (&shelf{}); leave(t, s, nil, fill).Artifacts != nil || s.kept != nil {
		t.Errorf("nothing is asked for, and stored: %q", s.kept)
	}
}

func TestWhatCannotBeAnArtifactIsRefusedWithAReason(t *testing.T) {
	tests := map[string]struct {
		fill  func(dir string) error
		code  events.Code
		wants string
	}{
		"a link to a file outside": {func(dir string) error { return os.Symlink("/etc/passwd", dir+"/out/l") }, events.CodeInvalid, `"out/l" is a symbolic link`},
		"a link to a folder":       {func(dir string) error { return os.Symlink("/etc", dir+"/out/l") }, events.CodeInvalid, `"out/l" is a symbolic link`},
		"a link in place of the folder": {func(dir string) error {
			return errors.Join(os.Remove(dir+"/out"), os.Symlink("/etc", dir+"/out"))
		}, events.CodeInvalid, `"out" is a symbolic link`},
		"a pipe":   {func(dir string) error { return syscall.Mkfifo(dir+"/out/p", 0o600) }, events.CodeInvalid, `"out/p" is no file`},
		"a letter": {func(dir string) error { return os.WriteFile(dir+"/out/\xff", nil, 0o600) }, events.CodeInvalid, "has a name"},
		"a line":   {func(dir string) error { return os.WriteFile(dir+"/out/a\nb", nil, 0o600) }, events.CodeInvalid, "has a name"},
		"too many": {func(dir string) error {
			for i := range MaxArtifacts + 1 {
				musttest.Write(t, filepath.Join(dir, fmt.Sprintf("out/%d", i)), "")
			}
			return nil
		}, events.CodeTooLarge, "more than 64 artifacts"},
		"too much": {func(dir string) error {
			musttest.Write(t, filepath.Join(dir, "out/large"), "")
			return os.Truncate(dir+"/out/large", MaxArtifactBytes+1) // Sparse.
		}, events.CodeTooLarge, "bytes together"},
		"too deep": {func(dir string) error {
			return os.MkdirAll(dir+"/out"+strings.Repeat("/d", maxDeep), 0o700)
		}, events.CodeTooLarge, "folders deep"},
		"the same name": {func(dir string) error {
			musttest.Write(t, filepath.Join(dir, "out/x"), "")
			musttest.Write(t, filepath.Join(dir, "x"), "")
			return nil
		}, events.CodeDuplicateID, "same name"},
	}
	for name, test := range tests {
		s := &shelf{}
		r := leave(t, s, []string{"out/**", "x"}, func(dir string) {
			musttest.Do(t, test.fill(dir))
		})
		if r.Outcome != events.ExecutionError || r.Error.Code != test.code || !strings.Contains(r.Error.Message, test.wants) || r.Error.Field != "artifacts" || r.Artifacts != nil {
			t.Errorf("%s: %+v %+v", name, r, r.Error)
		}
		if len(s.kept) > 0 {
			t.Errorf("%s: stored %d", name, len(s.kept))
		}
	}
}

func TestAFileThatCannotBeStoredEndsTheRunWithItsName(t *testing.T) {
	s := &shelf{err: &events.Fault{Code: events.CodeTooLarge, Message: "it can never be stored"}}
	r := leave(t, s, DefaultArtifacts(), func(dir string) { musttest.Write(t, filepath.Join(dir, "out/a"), "a") })
	if r.Outcome != events.ExecutionError || r.Error.Code != events.CodeTooLarge || r.Error.Message != `artifact "out/a": it can never be stored` {
		t.Errorf("%+v %+v", r, r.Error)
	}
	s = &shelf{err: context.Canceled}
	r = leave(t, s, DefaultArtifacts(), func(dir string) { musttest.Write(t, filepath.Join(dir, "out/a"), "a") })
	if r.Outcome != events.ExecutionError || r.Error.Code != events.CodeExecution {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

func TestManyFilesAreLookedThroughWithinABound(t *testing.T) {
	dir := t.TempDir()
	for i := range 600 { // More than one read returns.
		musttest.Write(t, filepath.Join(dir, fmt.Sprintf("out/%d", i)), "")
	}
	root := musttest.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	if names, err := gather(root, []string{"out/*.pdf"}, 601); err != nil || names != nil {
		t.Errorf("%v %v", names, err)
	}
	var fault *events.Fault
	if _, err := gather(root, []string{"out/*.pdf"}, 600); !errors.As(err, &fault) || fault.Code != events.CodeTooLarge {
		t.Errorf("%v", err)
	}
}

func TestPatternsOfACardAreChecked(t *testing.T) {
	for pattern, wants := range map[string]string{
		"out/**": "", "*.pdf": "", "a/**/b": "",
		"/etc/*": "no path inside", "../x": "no path inside", "a//b": "no path inside", "": "no path inside", ".": "no path inside",
		"[a": "no pattern", "**/x/**": "more than one",
	} {
		faults := PatternFaults([]string{pattern})
		if len(faults) != min(len(wants), 1) || wants != "" && !strings.Contains(faults[0].Message, wants) {
			t.Errorf("%q: %v, want %q", pattern, faults, wants)
		}
	}
	if faults := PatternFaults(slices.Repeat([]string{"a"}, maxPatterns+1)); len(faults) != 1 {
		t.Errorf("%v", faults)
	}
}
