package musttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// T is a test, benchmark or property that can fail. It is used in the goroutine of the test only.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Write writes a file that only the user may read, and the folders above it.
func Write[Text ~string | ~[]byte](t T, path string, text Text) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// JSON encodes a value.
func JSON(t T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Decode reads JSON into the value that a pointer points to.
func Decode(t T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
