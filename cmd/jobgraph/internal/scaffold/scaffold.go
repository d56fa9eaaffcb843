package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/template"
)

//go:embed template
var files embed.FS

// Project holds the values for the templates.
type Project struct {
	// Name is the project's name: lower-case letters, digits and hyphens.
	Name string
	// Source is the absolute path of a checkout of Jobgraph that a worker in Go is built against; empty to require Version.
	Source string
	// Version is the release that a worker in Go requires.
	Version string
}

// Template is one kind of project.
type Template struct {
	// Name is the value of --template.
	Name string
	// About says in one line what the project is.
	About string
	// Go says that the project is a Go module, and needs a source or a version of Jobgraph.
	Go bool
	// Next are the commands that run and test the project, from its folder.
	Next []string
}

// Templates lists all kinds of projects; the first one is the default.
func Templates() []Template {
	return []Template{
		{Name: "agent", About: "an agent with tools, on a job and notes of your own", Next: []string{
			"jobgraph run -f job.yaml --attach notes --model fake:model.yaml --artifacts out", "sh test.sh",
		}},
		{Name: "worker-go", About: "an expert that is a function in Go, in a runner of your own", Go: true, Next: []string{
			"go test ./...", "jobgraph up &", "go run . --pools words-go --http-addr off &", `jobgraph run --expert "Word Counter" "one two three"`,
		}},
		{Name: "worker-python", About: "an expert in Python that speaks to the bus itself, with the standard library alone", Next: []string{
			"python3 -m unittest", "jobgraph up --experts experts &", "python3 worker.py words &", `jobgraph run --expert "Word Counter" "one two three"`,
		}},
		{Name: "graph", About: "a plan that you write, with programs as experts", Next: []string{
			"jobgraph run -f job.yaml --attach texts --artifacts out", "sh test.sh",
		}},
	}
}

// Find returns the template with a name. Errors: events.Fault that lists the names.
func Find(name string) (Template, error) {
	all := Templates()
	if i := slices.IndexFunc(all, func(t Template) bool { return t.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return Template{}, &events.Fault{
		Code: events.CodeInvalid, Field: "--template", Message: fmt.Sprintf("there is no template %.80q", name), Hint: "use " + strings.Join(names, ", "),
	}
}

// NameOf makes the name of a project from the name of its folder.
func NameOf(dir string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(filepath.Base(dir)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "project"
}

// Write writes the project into a folder, which it creates if necessary, and returns the names of its files in order. Errors:
// events.Fault for a folder that contains files, or that cannot be written.
func (t Template) Write(dir string, p Project) ([]string, error) {
	if err := vacant(dir); err != nil {
		return nil, err
	}
	root := path.Join("template", t.Name)
	var written []string
	err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		to := strings.TrimPrefix(name, root+"/")
		if plain, filled := strings.CutSuffix(to, ".tmpl"); filled {
			to = plain
			if text, err = p.fill(name, string(text)); err != nil || len(text) == 0 {
				return err // A file whose template yields no text does not belong to this project.
			}
		}
		written = append(written, to)
		return put(filepath.Join(dir, filepath.FromSlash(to)), text)
	})
	var fault *fs.PathError
	if errors.As(err, &fault) {
		err = unwritable(dir, fault.Err)
	}
	return written, err
}

// fill returns a template with the project's values.
func (p Project) fill(name, text string) ([]byte, error) {
	t, err := template.Parse(name, text)
	if err != nil {
		return nil, err
	}
	filled, err := t.Execute(name, p)
	return []byte(filled), err
}

// vacant refuses a folder that is not empty, so that no file of a person is replaced or mixed up with those of a template.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	var fault *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &fault):
		return unwritable(dir, fault.Err)
	case len(entries) > 0:
		return &events.Fault{
			Code: events.CodeConflict, Field: dir, Message: fmt.Sprintf("the folder is not empty: it has %q", entries[0].Name()), Hint: "name a folder that does not exist yet",
		}
	}
	return nil
}

func unwritable(dir string, cause error) error {
	return &events.Fault{
		Code: events.CodeInvalid, Field: dir, Message: "the project cannot be written there", Cause: cause.Error(), Hint: "name another folder, or one that does not exist yet",
	}
}

// put writes one file; scripts become executable.
func put(to string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(string(text), "#!") {
		mode = 0o755
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
