package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/picture"
)

func sample() graph.Graph {
	b := graph.NewBuilder()
	for i, kind := range []string{"package", "type", "func", "document", "name", "term", "module"} {
		for j := range 3 {
			id := fmt.Sprintf("%s:%d", kind, j)
			b.Add(graph.Entity{ID: id, Kind: kind, Name: fmt.Sprintf("%s number %d", kind, j), Weight: 1 + i*40 + j*100})
			b.Relate("package:0", id, "declares", 1+j)
			b.Relate(id, fmt.Sprintf("term:%d", j), "mentions", 6)
		}
	}
	return b.Graph()
}

func TestTheSameGraphGivesTheSameBytes(t *testing.T) {
	golden := filepath.Join("testdata", "sample.svg")
	got := picture.SVG("A sample", sample())
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		drawn := filepath.Join(t.ArtifactDir(), "sample.svg")
		if err := os.WriteFile(drawn, got, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s differs from %s: when that is wanted, run with -artifacts, look at it and put it in its place", drawn, golden)
	}
}

func TestAnyNameGivesWellFormedXML(t *testing.T) {
	b := graph.NewBuilder()
	for _, name := range []string{`<script>"&'`, "zero\x00", "bad\xff", "]]>", "图谱", "", "a very long name that is too long to read"} {
		b.Add(graph.Entity{ID: "type:" + name, Kind: "<kind>", Name: name})
		b.Relate("type:图谱", "type:"+name, "\"calls\"", 1<<40)
	}
	for name, g := range map[string]graph.Graph{"odd": b.Graph(), "nothing": {}, "one": {Entities: []graph.Entity{{ID: "a", Name: "a"}}}} {
		decoder := xml.NewDecoder(bytes.NewReader(picture.SVG("<title> & more", g)))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestNoLabelCoversAnother(t *testing.T) {
	type text struct {
		X    int    `xml:"x,attr"`
		Y    int    `xml:"y,attr"`
		Name string `xml:",chardata"`
	}
	var file struct {
		Texts []text `xml:"g>text"`
	}
	if err := xml.Unmarshal(picture.SVG("A sample", sample()), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Texts) != len(sample().Entities) {
		t.Fatalf("%d labels for %d entities", len(file.Texts), len(sample().Entities))
	}
	for i, a := range file.Texts {
		for _, b := range file.Texts[:i] {
			if wide := (len(a.Name) + len(b.Name)) * 3; abs(a.X-b.X) < wide && abs(a.Y-b.Y) < 12 {
				t.Errorf("%q at %d,%d and %q at %d,%d cover each other", a.Name, a.X, a.Y, b.Name, b.X, b.Y)
			}
		}
	}
}

func abs(v int) int { return max(v, -v) }
