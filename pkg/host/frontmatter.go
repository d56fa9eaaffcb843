package host

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// OpenFrontMatter reads a file that begins with YAML between two lines "---", followed by text. It decodes the YAML into
// out, as strictly as ReadYAML but without a version, and returns the text without surrounding blank lines. References in
// the text are not expanded. All faults are returned together as Faults, with the lines of the whole file; the returned
// file locates further ones.
func OpenFrontMatter(path string, env Env, out any) (body string, file *File, err error) {
	text, err := readSmall(path)
	if err != nil {
		return "", nil, Faults{unreadable(path, err)}
	}
	return ParseFrontMatter(path, text, env, out)
}

// ParseFrontMatter is like OpenFrontMatter, for the text of a file; path names it in faults, and is the base of
// relative paths.
func ParseFrontMatter(path, text string, env Env, out any) (body string, file *File, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, body, ok := cutFrontMatter(text)
	if !ok {
		return "", nil, Faults{{
			Code: events.CodeMalformed, File: path, Line: 1, Column: 1, Message: "the front matter is missing or not closed",
			Hint: "begin with a line ---, then keys such as name: and description:, then a line ---, then the text",
		}}
	}
	d := newDocument(path, env, front)
	root, parsed := d.parse(front)
	if !parsed {
		return "", &File{d}, d.faults.Err()
	}
	if err := d.decode(root, out); err != nil {
		return "", &File{d}, err
	}
	return strings.TrimSpace(body), &File{d}, nil
}

// cutFrontMatter splits after the second line "---". The first is replaced by an empty line, so that line numbers stay the
// same.
func cutFrontMatter(text string) (front, body string, ok bool) {
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return "", "", false
	}
	for i := 1; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \t") == "---" {
			return "\n" + strings.Join(lines[1:i], "\n") + "\n", strings.Join(lines[i+1:], "\n"), true
		}
	}
	return "", "", false
}
