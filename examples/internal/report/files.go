package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jobgraph/jobgraph/examples/internal/picture"
	"github.com/jobgraph/jobgraph/examples/internal/rank"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

// Written says where the files are.
type Written struct {
	// Summary describes the result in a sentence or two.
	Summary string `json:"summary"`
	// Report is the path of the Markdown report.
	Report string `json:"report"`
	// Picture is the path of the SVG picture.
	Picture string `json:"picture"`
	// Data is the path of the analysis as JSON.
	Data string `json:"data"`
}

// Write makes the folder if need be and writes report.md, graph.svg and graph.json into it. It replaces files of these
// names and nothing else.
func Write(dir string, analysis rank.Analysis, inventory *scan.Inventory) (Written, error) {
	w := Written{
		Summary: Summary(analysis, inventory),
		Report:  filepath.Join(dir, "report.md"), Picture: filepath.Join(dir, "graph.svg"), Data: filepath.Join(dir, "graph.json"),
	}
	data, err := json.MarshalIndent(analysis, "", "  ")
	if err != nil {
		return Written{}, fmt.Errorf("encode analysis: %w", err)
	}
	title := "What matters"
	if inventory != nil {
		title = "What matters in " + filepath.Base(inventory.Root)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Written{}, fmt.Errorf("make folder for the results: %w", err)
	}
	for _, file := range []struct {
		path    string
		content []byte
	}{
		{w.Data, append(data, '\n')},
		{w.Picture, picture.SVG(title, analysis.Picture)},
		{w.Report, []byte(Markdown(analysis, inventory))},
	} {
		if err := replace(file.path, file.content); err != nil {
			return Written{}, err
		}
	}
	return w, nil
}

// replace writes a file beside its place and moves it there.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // gone already when the move succeeded
	_, err = f.Write(content)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
