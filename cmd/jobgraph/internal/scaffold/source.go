package scaffold

import (
	"bytes"
	"os"
	"path/filepath"

	"golang.org/x/mod/semver"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// marker is a file that every checkout of Jobgraph has; markerLine is its beginning.
const (
	marker     = "services/expert-runner/go.mod"
	markerLine = "module github.com/jobgraph/jobgraph/services/expert-runner\n"
)

// Against returns the project with the Jobgraph that its Go module is built against: the checkout that a person named, else the one
// that contains a given place, else the release that this program is. Errors: events.Fault if there is none.
func (p Project) Against(named, version string, places ...string) (Project, error) {
	if named != "" {
		found, ok := checkout(named)
		if !ok {
			return p, &events.Fault{Code: events.CodeNotFound, Field: "--source", Message: named + " is no checkout of Jobgraph: it has no " + marker, Hint: "name the folder that it was cloned into"}
		}
		p.Source = found
		return p, nil
	}
	for _, place := range places {
		for dir := place; dir != ""; {
			if found, ok := checkout(dir); ok {
				p.Source = found
				return p, nil
			}
			above := filepath.Dir(dir)
			if above == dir {
				break
			}
			dir = above
		}
	}
	if semver.IsValid(version) && semver.Build(version) == "" {
		p.Version = version
		return p, nil
	}
	return p, &events.Fault{
		Code: events.CodeMissing, Field: "--source", Message: "this program is no release (" + version + "), and lies in no checkout of Jobgraph that a worker in Go could be built against",
		Hint: "name a checkout with --source DIR",
	}
}

// checkout returns the absolute path of a folder if it is a checkout of Jobgraph.
func checkout(dir string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(marker)))
	if err != nil || !bytes.HasPrefix(text, []byte(markerLine)) {
		return "", false
	}
	path, err := filepath.Abs(dir)
	return path, err == nil
}
