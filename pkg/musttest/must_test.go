package musttest_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// counted counts failures in the place of a test.
type counted struct{ failures int }

func (*counted) Helper() {}

func (c *counted) Fatal(...any) { c.failures++ }

func (c *counted) Errorf(string, ...any) { c.failures++ }

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := musttest.Files(t, t.TempDir(), map[string]string{"a": "1", "b/c": "2"})
	if a, c := musttest.Read(t, filepath.Join(dir, "a")), musttest.Read(t, filepath.Join(dir, "b", "c")); string(a)+string(c) != "12" {
		t.Errorf("got %q and %q", a, c)
	}
	if text := musttest.Read(t, musttest.Temp(t, "a/b", []byte("3"))); string(text) != "3" {
		t.Errorf("got %q", text)
	}
	musttest.Equal(t, []int{1}, []int{1})
	var list []int
	if musttest.Decode(t, musttest.JSON(t, []int{1, 2}), &list); len(list) != 2 {
		t.Errorf("got %v", list)
	}
}

func TestEachErrorFailsTheTest(t *testing.T) {
	dir := musttest.Files(t, t.TempDir(), map[string]string{"file": ""})
	for name, f := range map[string]func(c *counted){
		"do":     func(c *counted) { musttest.Do(c, errors.New("failed")) },
		"get":    func(c *counted) { musttest.Get(1, errors.New("failed"))(c) },
		"equal":  func(c *counted) { musttest.Equal(c, []int{1}, []int{2}) },
		"write":  func(c *counted) { musttest.Write(c, dir, "a folder is there") },
		"read":   func(c *counted) { musttest.Read(c, dir) },
		"encode": func(c *counted) { musttest.JSON(c, func() {}) },
		"decode": func(c *counted) { musttest.Decode(c, []byte("{"), new(int)) },
	} {
		c := &counted{}
		if f(c); c.failures != 1 {
			t.Errorf("%s: %d failures", name, c.failures)
		}
	}
}
