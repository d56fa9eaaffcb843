package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits of the file tools.
const (
	// MaxRead is how much one call reads, MaxWrite how much it writes, in bytes.
	MaxRead  = 256 << 10
	MaxWrite = 1 << 20
	// MaxWritten is how much all calls of a run write together, in bytes.
	MaxWritten = 16 << 20
	// MaxListed is how many entries one call lists.
	MaxListed = 1000
)

// Files are the tools of one workspace. They are used by one goroutine at a time.
type Files struct {
	root    *os.Root
	written int
	changes []change // For undo, the last one last.
}

// OpenFiles returns the tools of a folder. Nothing outside it can be reached, by path or by link.
func OpenFiles(dir string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Files{root: root}, nil
}

// Close releases the folder.
func (f *Files) Close() error { return f.root.Close() }

// Tools returns the tools that read, write, list, find and edit files.
func (f *Files) Tools() []Tool {
	return []Tool{
		{
			Name: ReadFile, Description: "Reads a text file of the workspace, from a byte on.", Local: true, Call: f.read,
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0}},"required":["path"]}`),
		},
		{
			Name: WriteFile, Description: "Writes a text file of the workspace, in place of what was there. What lies in the folder out is handed on with your result.", Local: true, Call: f.write,
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`),
		},
		{
			Name: ListFiles, Description: "Lists a folder of the workspace with all below it.", Local: true, Call: f.list,
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the workspace itself when left out"}}}`),
		},
		f.editTool(), f.findTool(),
	}
}

func (f *Files) read(_ context.Context, c Call) (string, error) {
	var a struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	if a.Path == "" || a.Offset < 0 {
		return "", errors.New("bad arguments: path is needed, and offset is not negative")
	}
	file, err := f.root.Open(inside(a.Path))
	if err != nil {
		return "", plain(err, a.Path)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", a.Path)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, a.Offset, MaxRead))
	if err != nil {
		return "", plain(err, a.Path)
	}
	text := whole(data)
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%s is no text: %d bytes", a.Path, info.Size())
	}
	if end := a.Offset + int64(len(text)); end < info.Size() {
		text += fmt.Sprintf("\n[bytes %d to %d of %d; go on with offset %d]", a.Offset, end, info.Size(), end)
	}
	return text, nil
}

// whole returns a piece of a file as text, without the incomplete character at its end.
func whole(data []byte) string {
	for cut := 1; cut < utf8.UTFMax && cut <= len(data); cut++ {
		if last := data[len(data)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				data = data[:len(data)-cut]
			}
			break
		}
	}
	return string(data)
}

func (f *Files) write(_ context.Context, c Call) (string, error) {
	var a struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	switch {
	case a.Path == "" || a.Content == nil:
		return "", errors.New("bad arguments: path and content are needed")
	case len(*a.Content) > MaxWrite:
		return "", fmt.Errorf("the content has %d bytes, at most %d are written at once", len(*a.Content), MaxWrite)
	case f.written+len(*a.Content) > MaxWritten:
		return "", fmt.Errorf("more than %d bytes in one run are not written", MaxWritten)
	}
	name := inside(a.Path)
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return "", plain(err, a.Path)
	}
	if err := f.root.WriteFile(name, []byte(*a.Content), 0o600); err != nil {
		return "", plain(err, a.Path)
	}
	f.written += len(*a.Content)
	return fmt.Sprintf("wrote %d bytes to %s", len(*a.Content), a.Path), nil
}

func (f *Files) list(_ context.Context, c Call) (string, error) {
	var a struct {
		Path string `json:"path"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	var lines []string
	err := fs.WalkDir(f.root.FS(), inside(a.Path), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case len(lines) == MaxListed:
			lines = append(lines, fmt.Sprintf("[the first %d]", MaxListed))
			return fs.SkipAll
		case d.IsDir() && d.Name() == ".tmp":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err == nil {
			lines = append(lines, fmt.Sprintf("%s %d", name, info.Size()))
		}
		return err
	})
	switch {
	case err != nil:
		return "", plain(err, a.Path)
	case len(lines) == 0:
		return "(no files)", nil
	}
	return strings.Join(lines, "\n"), nil
}

// inside is a path in the root's form: relative and clean. A path that leaves the workspace still does, and the root refuses it.
func inside(name string) string {
	name = strings.TrimPrefix(name, "/")
	if name == "" {
		return "."
	}
	return path.Clean(name)
}

// plain is an error without the path of the workspace.
func plain(err error, name string) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", name, failed.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
