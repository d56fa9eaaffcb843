package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Edit is the name of the tool that views and changes text files.
const Edit = "edit"

// maxEdited is the largest file that can be edited, in bytes; maxUndo is how many changes can be undone.
const (
	maxEdited = 4 << 20
	maxUndo   = 50
)

// change is the state of a file before an edit.
type change struct {
	path  string
	was   []byte
	there bool
}

func (f *Files) editTool() Tool {
	return Tool{
		Name: Edit, Local: true, Call: f.edit,
		Description: "Views and changes text files of the workspace. view shows numbered lines, from line first to line last; create writes a new file; " +
			"replace puts new in the place of old, which must occur in the file exactly once; insert puts new after line first (0 is the beginning); " +
			"undo takes the last change back.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"do":{"enum":["view","create","replace","insert","undo"]},"path":{"type":"string"},` +
			`"old":{"type":"string"},"new":{"type":"string"},"first":{"type":"integer","minimum":0},"last":{"type":"integer","minimum":1}},"required":["do"]}`),
	}
}

type edit struct {
	Do    string  `json:"do"`
	Path  string  `json:"path"`
	Old   *string `json:"old"`
	New   *string `json:"new"`
	First *int    `json:"first"`
	Last  *int    `json:"last"`
}

func (f *Files) edit(_ context.Context, c Call) (string, error) {
	var a edit
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	if a.Path == "" && a.Do != "undo" {
		return "", errors.New("bad arguments: path is needed")
	}
	switch a.Do {
	case "view":
		return f.view(&a)
	case "create":
		return f.create(&a)
	case "replace":
		return f.replace(&a)
	case "insert":
		return f.insert(&a)
	case "undo":
		return f.undo()
	}
	return "", fmt.Errorf("bad arguments: do is view, create, replace, insert or undo, not %q", a.Do)
}

// text reads a whole file.
func (f *Files) text(name string) (string, error) {
	info, err := f.root.Stat(inside(name))
	switch {
	case err != nil:
		return "", plain(err, name)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", name)
	case info.Size() > maxEdited:
		return "", fmt.Errorf("%s has %d bytes, at most %d are edited", name, info.Size(), maxEdited)
	}
	data, err := f.root.ReadFile(inside(name))
	if err != nil {
		return "", plain(err, name)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is no text: %d bytes", name, len(data))
	}
	return string(data), nil
}

func (f *Files) view(a *edit) (string, error) {
	text, err := f.text(a.Path)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first, last := 1, len(lines)
	if a.First != nil {
		first = max(1, *a.First)
	}
	if a.Last != nil {
		last = min(last, *a.Last)
	}
	if first > last {
		return "", fmt.Errorf("%s has %d lines", a.Path, len(lines))
	}
	return numbered(lines, first, last), nil
}

// numbered shows lines with their numbers, as many as MaxRead holds.
func numbered(lines []string, first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		if b.Len() > MaxRead {
			fmt.Fprintf(&b, "[%d of %d lines; go on with first %d]\n", n-1, len(lines), n)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", n, strings.TrimRight(lines[n-1], "\r\n"))
	}
	return b.String()
}

func (f *Files) create(a *edit) (string, error) {
	if a.New == nil {
		return "", errors.New("bad arguments: new is needed, the text of the file")
	}
	if _, err := f.root.Lstat(inside(a.Path)); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is there already: change it by replace, or overwrite it by %s", a.Path, WriteFile)
	}
	if err := f.put(a.Path, *a.New, change{path: a.Path}); err != nil {
		return "", err
	}
	return fmt.Sprintf("created %s with %d bytes", a.Path, len(*a.New)), nil
}

func (f *Files) replace(a *edit) (string, error) {
	if a.Old == nil || *a.Old == "" || a.New == nil {
		return "", errors.New("bad arguments: old and new are needed")
	}
	text, err := f.text(a.Path)
	if err != nil {
		return "", err
	}
	switch n := strings.Count(text, *a.Old); n {
	case 0:
		return "", fmt.Errorf("old does not occur in %s: view the file, and give the exact text, with its white space", a.Path)
	case 1:
	default:
		return "", fmt.Errorf("old occurs %d times in %s, at lines %s: give more of its surroundings", n, a.Path, places(text, *a.Old))
	}
	at := strings.Index(text, *a.Old)
	changed := text[:at] + *a.New + text[at+len(*a.Old):]
	if err := f.put(a.Path, changed, change{path: a.Path, was: []byte(text), there: true}); err != nil {
		return "", err
	}
	return f.around(a.Path, changed, at, at+len(*a.New)), nil
}

// maxPlaces limits the places of a text that are named.
const maxPlaces = 10

// places lists the lines that contain a text.
func places(text, old string) string {
	var list []string
	for from := 0; len(list) < maxPlaces; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		list = append(list, fmt.Sprint(1+strings.Count(text[:from+i], "\n")))
		from += i + len(old)
	}
	return strings.Join(list, ", ")
}

func (f *Files) insert(a *edit) (string, error) {
	if a.New == nil || a.First == nil {
		return "", errors.New("bad arguments: first and new are needed")
	}
	text, err := f.text(a.Path)
	if err != nil {
		return "", err
	}
	at := 0
	for n := range *a.First {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 && n == *a.First-1 && at < len(text) { // After a last line without a line break.
			text += "\n"
			end = len(text) - 1 - at
		}
		if end < 0 {
			return "", fmt.Errorf("%s has fewer than %d lines", a.Path, *a.First)
		}
		at += end + 1
	}
	added := *a.New
	if at < len(text) && !strings.HasSuffix(added, "\n") {
		added += "\n"
	}
	was, err := f.text(a.Path)
	if err != nil {
		return "", err
	}
	changed := text[:at] + added + text[at:]
	if err := f.put(a.Path, changed, change{path: a.Path, was: []byte(was), there: true}); err != nil {
		return "", err
	}
	return f.around(a.Path, changed, at, at+len(added)), nil
}

// around shows the lines of a change with three lines on each side.
func (f *Files) around(name, text string, from, to int) string {
	const margin = 3
	lines := strings.SplitAfter(text, "\n")
	first := 1 + strings.Count(text[:from], "\n")
	last := 1 + strings.Count(text[:to], "\n")
	return "changed " + name + ":\n" + numbered(lines, max(1, first-margin), min(len(lines), last+margin))
}

func (f *Files) undo() (string, error) {
	if len(f.changes) == 0 {
		return "", errors.New("there is no change to undo")
	}
	last := f.changes[len(f.changes)-1]
	f.changes = f.changes[:len(f.changes)-1]
	if !last.there {
		if err := f.root.Remove(inside(last.path)); err != nil {
			return "", plain(err, last.path)
		}
		return "removed " + last.path + ", which was created", nil
	}
	if err := f.root.WriteFile(inside(last.path), last.was, 0o600); err != nil {
		return "", plain(err, last.path)
	}
	return "took the last change of " + last.path + " back", nil
}

// put writes a file and remembers its previous state.
func (f *Files) put(name, text string, was change) error {
	if len(text) > maxEdited || f.written+len(text) > MaxWritten {
		return fmt.Errorf("a file of at most %d bytes is edited, and %d bytes in one run are written", maxEdited, MaxWritten)
	}
	if err := f.root.MkdirAll(path.Dir(inside(name)), 0o700); err != nil {
		return plain(err, name)
	}
	mode := fs.FileMode(0o600)
	if info, err := f.root.Stat(inside(name)); err == nil {
		mode = info.Mode().Perm()
	}
	if err := f.root.WriteFile(inside(name), []byte(text), mode); err != nil {
		return plain(err, name)
	}
	f.written += len(text)
	f.changes = append(f.changes, was)
	if len(f.changes) > maxUndo {
		f.changes = f.changes[1:]
	}
	return nil
}
