package extract

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

// Limits bound an extraction. The zero value is not useful: start from DefaultLimits.
type Limits struct {
	// FileBytes is how much of one file is read.
	FileBytes int64
	// Entities is the largest number of entities returned, the best connected first.
	Entities int
	// Relations is the largest number of relations returned, the heaviest first.
	Relations int
	// Faults is the largest number of faults returned.
	Faults int
}

// DefaultLimits keep a result within a few hundred kilobytes.
func DefaultLimits() Limits {
	return Limits{FileBytes: 1 << 20, Entities: 1_200, Relations: 3_000, Faults: 20}
}

// Extraction is what was found.
type Extraction struct {
	graph.Graph
	// Source is code, text or both.
	Source string `json:"source"`
	// FilesRead is the number of files that were read.
	FilesRead int `json:"files_read"`
	// Cut says how many entities and relations were found beyond the limits.
	Cut Cut `json:"cut"`
	// Faults are the files that could not be read, or only in part.
	Faults []Fault `json:"faults"`
}

// Cut counts what was left out for size.
type Cut struct {
	// Entities is the number of entities.
	Entities int `json:"entities"`
	// Relations is the number of relations.
	Relations int `json:"relations"`
}

// Fault is what is wrong with one file.
type Fault struct {
	// File is the path relative to the root.
	File string `json:"file"`
	// Message says what is wrong, with the line where it is known.
	Message string `json:"message"`
}

// ErrNothing means that there was no file of the wanted kind.
var ErrNothing = errors.New("no file of this kind among the chosen ones")

// reader holds the state of one extraction.
type reader struct {
	fsys   fs.FS
	limits Limits
	build  *graph.Builder
	faults []Fault
	read   int
}

// Extract reads the chosen files of the given kind (scan.Code, scan.Text; empty for both). It returns ErrNothing when
// there is none, and the context's error when that ends.
func Extract(ctx context.Context, fsys fs.FS, files []scan.File, kind string, limits Limits) (Extraction, error) {
	r := &reader{fsys: fsys, limits: limits, build: graph.NewBuilder()}
	files = slices.DeleteFunc(slices.Clone(files), func(f scan.File) bool { return kind != "" && f.Kind != kind })
	if len(files) == 0 {
		return Extraction{}, ErrNothing
	}
	golang, source, text := newGolang(r), newSource(r), newText(r)
	for _, f := range files {
		if ctx.Err() != nil {
			return Extraction{}, context.Cause(ctx)
		}
		raw, err := scan.ReadFile(fsys, f.Path, limits.FileBytes)
		switch {
		case err != nil:
			r.fault(f.Path, err)
			continue
		case scan.IsBinary(raw):
			r.fault(f.Path, errors.New("is binary"))
			continue
		case f.Language == "Go":
			golang.add(f.Path, raw)
		case f.Kind == scan.Code:
			source.add(f, raw)
		default:
			text.add(f.Path, string(raw))
		}
		r.read++
	}
	golang.finish()
	source.finish()
	text.finish()
	return r.extraction(kind), nil
}

func (r *reader) extraction(kind string) Extraction {
	e := Extraction{Source: kind, FilesRead: r.read, Faults: r.faults}
	if kind == "" {
		e.Source = "both"
	}
	if e.Faults == nil {
		e.Faults = []Fault{}
	}
	e.Graph, e.Cut.Entities, e.Cut.Relations = r.build.Graph().Trim(r.limits.Entities, r.limits.Relations)
	return e
}

func (r *reader) fault(file string, err error) {
	if len(r.faults) < r.limits.Faults {
		r.faults = append(r.faults, Fault{File: file, Message: err.Error()})
	}
}
