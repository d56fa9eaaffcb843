package musttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// T is a test, benchmark or property that can fail. It is used in the goroutine of the test only.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Do fails the test if a step fails: Do(t, file.Close()).
func Do(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a step, and fails the test if the step fails: file := Get(os.Open(path))(t).
func Get[V any](value V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Equal reports what a test got if it differs from what it wants; the test continues.
func Equal(t interface {
	Helper()
	Errorf(format string, args ...any)
}, want, got any, options ...cmp.Option,
) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Write writes a file that only the user may read, and the folders above it.
func Write[Text ~string | ~[]byte](t T, path string, text Text) {
	t.Helper()
	Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// Temp writes a file into a new folder of the test and returns its path.
func Temp[Text ~string | ~[]byte](tb testing.TB, name string, text Text) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	Write(tb, path, text)
	return path
}

// Files writes files into a folder, by their paths in it, and returns the folder.
func Files(t T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files { // any order: each file is written for itself.
		Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// Read returns the content of a file.
func Read(t T, path string) []byte {
	t.Helper()
	return Get(os.ReadFile(path))(t)
}

// JSON encodes a value.
func JSON(t T, value any) []byte {
	t.Helper()
	return Get(json.Marshal(value))(t)
}

// Decode reads JSON into the value that a pointer points to.
func Decode(t T, text []byte, into any) {
	t.Helper()
	Do(t, json.Unmarshal(text, into))
}
