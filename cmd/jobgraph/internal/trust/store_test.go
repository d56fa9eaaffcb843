package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAFolderIsRememberedForItsOwnerAlone(t *testing.T) {
	s := At(filepath.Join(t.TempDir(), "config", "trust.json"))
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Fatal(list, err)
	}
	a := Entry{Folder: "/a", Digest: "sha256:1", Variables: []string{"KEY"}, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b := Entry{Folder: "/b", Digest: "sha256:2", Since: a.Since}
	for _, e := range []Entry{b, a, {Folder: "/b", Digest: "sha256:3", Since: a.Since}} {
		musttest.Do(t, s.Put(e))
	}
	b.Digest = "sha256:3"
	list, err := s.List()
	if d := cmp.Diff([]Entry{a, b}, list); d != "" || err != nil {
		t.Error(d, err)
	}
	for path, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if found, err := s.Remove("/b"); !found || err != nil {
		t.Error(found, err)
	}
	if found, err := s.Remove("/b"); found || err != nil {
		t.Error(found, err)
	}
	if _, ok, err := s.Get("/b"); ok || err != nil {
		t.Error(ok, err)
	}
	if e, ok, err := s.Get("/a"); !ok || err != nil || e.Digest != a.Digest {
		t.Error(e, ok, err)
	}
	left, err := os.ReadDir(filepath.Dir(s.Path()))
	if len(left) != 1 || err != nil {
		t.Error(left, err)
	}
}

func TestAStoreThatOthersMayHaveWrittenTrustsNothing(t *testing.T) {
	s := At(filepath.Join(t.TempDir(), "trust.json"))
	musttest.Do(t, s.Put(Entry{Folder: "/a", Digest: "d"}))
	musttest.Do(t, os.Chmod(s.Path(), 0o622))
	if _, ok, err := s.Get("/a"); ok || err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Error(ok, err)
	}
	if err := s.Put(Entry{Folder: "/b"}); err == nil {
		t.Error("it is written to")
	}
	for _, text := range []string{"{", `{"version":2}`, ""} {
		musttest.Write(t, s.Path(), text)
		musttest.Do(t, os.Chmod(s.Path(), 0o600))
		if _, ok, err := s.Get("/a"); ok || err == nil {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}
