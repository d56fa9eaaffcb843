package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// shelf returns the tools of a folder by name.
func shelf(t *testing.T) (dir string, call func(name, args string) string) {
	t.Helper()
	dir = t.TempDir()
	files := musttest.Get(tool.OpenFiles(dir))(t)
	t.Cleanup(func() { _ = files.Close() })
	return dir, func(name, args string) string {
		for _, one := range files.Tools() {
			if one.Name == name {
				text, err := one.Call(t.Context(), tool.Call{Args: args})
				if err != nil {
					return "Error: " + err.Error()
				}
				return text
			}
		}
		t.Fatalf("no tool %s", name)
		return ""
	}
}

func TestFilesAreWrittenReadAndListed(t *testing.T) {
	_, call := shelf(t)
	got := []string{
		call(tool.ListFiles, ``),
		call(tool.WriteFile, `{"path":"a/b.txt","content":"grün"}`),
		call(tool.WriteFile, "```json\n{\"path\": \"/c.txt\", \"content\": \"\",}\n```"),
		call(tool.ReadFile, `{"path":"a/b.txt"}`),
		call(tool.ReadFile, `{"path":"./a/../a/b.txt","offset":2}`),
		call(tool.ListFiles, `{"path":"."}`),
	}
	want := []string{"(no files)", "wrote 5 bytes to a/b.txt", "wrote 0 bytes to /c.txt", "grün", "ün", "a/b.txt 5\nc.txt 0"}
	musttest.Equal(t, want, got)
}

func TestALongFileIsReadInPieces(t *testing.T) {
	_, call := shelf(t)
	text := strings.Repeat("ä", tool.MaxRead/2+10)
	call(tool.WriteFile, fmt.Sprintf(`{"path":"long","content":%q}`, text))
	first := call(tool.ReadFile, `{"path":"long"}`)
	end := fmt.Sprintf("\n[bytes 0 to %d of %d; go on with offset %d]", tool.MaxRead, len(text), tool.MaxRead)
	if !strings.HasSuffix(first, end) || !strings.HasPrefix(first, "ääää") {
		t.Errorf("%q", first[len(first)-100:])
	}
	if got := call(tool.ReadFile, fmt.Sprintf(`{"path":"long","offset":%d}`, tool.MaxRead)); got != strings.Repeat("ä", 10) {
		t.Errorf("%q", got)
	}
}

func TestNothingOutsideOfTheWorkspaceIsReached(t *testing.T) {
	dir, call := shelf(t)
	secret := musttest.Temp(t, "secret", "secret")
	musttest.Do(t, os.Symlink(secret, filepath.Join(dir, "link")))
	musttest.Do(t, os.Symlink(filepath.Dir(secret), filepath.Join(dir, "folder")))
	for _, path := range []string{"../" + filepath.Base(filepath.Dir(secret)) + "/secret", "link", "folder/secret", secret, "a/../../x"} {
		for _, got := range []string{
			call(tool.ReadFile, fmt.Sprintf(`{"path":%q}`, path)), call(tool.WriteFile, fmt.Sprintf(`{"path":%q,"content":"x"}`, "folder/"+filepath.Base(path))),
			call(tool.ListFiles, fmt.Sprintf(`{"path":%q}`, "../")),
		} {
			if !strings.HasPrefix(got, "Error: ") {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("%q, %v", data, err)
	}
}

// proves O13
func TestBadArgumentsAndLimitsAreErrorsForTheModel(t *testing.T) {
	dir, call := shelf(t)
	musttest.Write(t, filepath.Join(dir, "binary"), []byte{0xff, 0xfe, 0})
	for _, test := range []struct{ name, args, want string }{
		{tool.ReadFile, `{}`, "path is needed"},
		{tool.ReadFile, `{"path":"gone"}`, "gone: no such file"},
		{tool.ReadFile, `{"path":"."}`, "is no file"},
		{tool.ReadFile, `{"path":"binary"}`, "binary is no text: 3 bytes"},
		{tool.ReadFile, `{"path":1}`, "bad arguments: cannot unmarshal number"},
		{tool.ReadFile, `{"file":"a"}`, `unknown field "file"`},
		{tool.ReadFile, `read it`, "no JSON object"},
		{tool.WriteFile, `{"path":"a"}`, "path and content are needed"},
		{tool.WriteFile, fmt.Sprintf(`{"path":"a","content":%q}`, strings.Repeat("x", tool.MaxWrite+1)), "at most 1048576 are written at once"},
	} {
		if got := call(test.name, test.args); !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s %.40s: %.200s", test.name, test.args, got)
		}
	}
	full := fmt.Sprintf(`{"path":"a","content":%q}`, strings.Repeat("x", tool.MaxWrite))
	for range tool.MaxWritten / tool.MaxWrite {
		if got := call(tool.WriteFile, full); strings.HasPrefix(got, "Error: ") {
			t.Fatal(got)
		}
	}
	if got := call(tool.WriteFile, full); !strings.Contains(got, "in one run are not written") {
		t.Error(got)
	}
}
