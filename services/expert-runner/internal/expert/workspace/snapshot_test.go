package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
)

// picture returns a folder as a map from names to contents, with modes and targets.
func picture(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	musttest.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			files[name] = "folder"
		case info.Mode()&fs.ModeSymlink != 0:
			files[name], err = os.Readlink(path)
		default:
			var data []byte
			data, err = os.ReadFile(path)
			files[name] = info.Mode().String() + " " + info.ModTime().UTC().String() + " " + string(data)
		}
		return err
	}))
	return files
}

// fixed is the time of a file that both workspaces have from the beginning.
var fixed = time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)

func TestStepsOfAWorkspaceAreRepeatedWithoutTheirPrograms(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	stored := map[string][]byte{}
	store := func(_ context.Context, file io.ReadSeeker) (events.Ref, error) {
		data, err := io.ReadAll(file)
		ref := events.Ref{Digest: string(rune('a' + len(stored)))}
		stored[ref.Digest] = data
		return ref, err
	}
	write := func(dir, name, text string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		musttest.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)))
	}
	for _, dir := range []string{first, second} {
		write(dir, "given", "input", 0o600)
		write(dir, "old/gone", "x", 0o600)
		musttest.Do(t, os.Chtimes(filepath.Join(dir, "given"), fixed, fixed))
	}
	from := musttest.Get(workspace.Track(first, store))(t)
	to := musttest.Get(workspace.Track(second, store))(t)
	defer func() { _ = errors.Join(from.Close(), to.Close()) }()
	if ref, err := from.Changes(t.Context()); ref != nil || err != nil {
		t.Fatalf("nothing has changed, got %v, %v", ref, err)
	}
	steps := []func(){
		func() {
			write(first, "src/a.go", "package a", 0o600)
			write(first, "build.sh", "#!/bin/sh", 0o700)
			write(first, ".cache/large", "not kept", 0o600)
			write(first, ".tmp/large", "not kept", 0o600)
		},
		func() {
			write(first, "src/a.go", "package b", 0o600)
			musttest.Do(t, errors.Join(os.RemoveAll(filepath.Join(first, "old")), os.Symlink("src/a.go", filepath.Join(first, "link"))))
		},
		func() {
			musttest.Do(t, errors.Join(os.Remove(filepath.Join(first, "link")), os.Mkdir(filepath.Join(first, "link"), 0o700)))
		},
	}
	for i, step := range steps {
		step()
		ref, err := from.Changes(t.Context())
		if err != nil || ref == nil {
			t.Fatalf("step %d: %v, %v", i, ref, err)
		}
		if err := to.Apply(bytes.NewReader(stored[ref.Digest])); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	want := picture(t, first)
	for _, name := range []string{".cache", ".cache/large", ".tmp", ".tmp/large"} {
		delete(want, name)
	}
	musttest.Equal(t, want, picture(t, second))
}

// Names in an archive cannot leave the workspace.
func TestChangesCannotLeaveTheWorkspace(t *testing.T) {
	outside := musttest.Temp(t, "secret", "kept")
	var data []byte
	store := func(_ context.Context, file io.ReadSeeker) (events.Ref, error) {
		var err error
		data, err = io.ReadAll(file)
		return events.Ref{Digest: "a"}, err
	}
	first, second := t.TempDir(), t.TempDir()
	from := musttest.Get(workspace.Track(first, store))(t)
	to := musttest.Get(workspace.Track(second, store))(t)
	defer func() { _ = errors.Join(from.Close(), to.Close()) }()
	// In the new workspace, a folder named in the archive is a link to the outside.
	musttest.Do(t, errors.Join(os.Mkdir(filepath.Join(first, "d"), 0o700), os.WriteFile(filepath.Join(first, "d", "secret"), []byte("forged"), 0o600),
		os.Symlink(filepath.Dir(outside), filepath.Join(second, "d"))))
	musttest.Get(from.Changes(t.Context()))(t)
	if err := to.Apply(bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "kept" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
}
