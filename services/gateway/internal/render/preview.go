package render

import (
	"bytes"
	"encoding/csv"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Kinds of previews.
const (
	Text     = "text"
	Source   = "code"
	Document = "markdown"
	Table    = "csv"
	Object   = "json"
	Image    = "image"
	None     = "none"
)

// MaxHead is how much of a file is read for a preview, in bytes.
const MaxHead = 256 << 10

// Bounds of a table.
const (
	maxRows    = 200
	maxColumns = 64
	maxCell    = 500
)

// images are the media types that a browser shows without executing anything; an SVG is inert as an image.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"}

// Kind says how a file can be shown, by its name and media type alone.
func Kind(name, media string) string {
	kind, _, err := mime.ParseMediaType(media)
	if err != nil {
		kind = ""
	}
	extension := strings.ToLower(path.Ext(name))
	switch {
	case slices.Contains(images, kind):
		return Image
	case kind == "text/markdown" || extension == ".md" || extension == ".markdown":
		return Document
	case kind == "text/csv" || kind == "text/tab-separated-values" || extension == ".csv" || extension == ".tsv":
		return Table
	case extension == ".json" || extension == "" && (kind == "application/json" || media == ""):
		return Object
	case Language(name) != "":
		return Source
	case strings.HasPrefix(kind, "text/") || kind == "" || kind == "application/json" || kind == "application/octet-stream":
		return Text
	}
	return None
}

// Preview is the beginning of a file in a form for people. HTML or Rows is set, or neither for an image.
type Preview struct {
	Kind string
	HTML string
	Rows [][]string
	// Cut is true if the file continues.
	Cut bool
}

// PreviewOf makes a preview of a file from its beginning; whole is true if that is the entire file. A file that is not what its
// name says is shown as text, or not at all.
func PreviewOf(name, media string, head []byte, whole bool) Preview {
	p := Preview{Kind: Kind(name, media), Cut: !whole}
	if p.Kind == Image {
		if kind, _, _ := mime.ParseMediaType(media); kind != "image/svg+xml" && http.DetectContentType(head) != kind {
			p.Kind = None
		}
		return p
	}
	for n := 0; n < utf8.UTFMax && !whole && len(head) > 0 && !utf8.Valid(head); n++ {
		head = head[:len(head)-1] // Drop an incomplete character.
	}
	if p.Kind == None || bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head) {
		p.Kind = None
		return p
	}
	text := string(head)
	switch p.Kind {
	case Document:
		p.HTML, _ = Markdown(text)
	case Table:
		if p.Rows = table(text, path.Ext(name) == ".tsv" || strings.Contains(media, "tab-separated")); p.Rows == nil {
			p.Kind, p.HTML = Text, plain(text)
		}
		p.Cut = p.Cut || len(p.Rows) == maxRows
	case Object:
		p.HTML, _ = JSON(text)
	case Source:
		p.HTML, _ = Code(text, Language(name))
	default:
		p.HTML = plain(text)
	}
	return p
}

// table reads the first rows of a table; nil if the text is not a table.
func table(text string, tabs bool) [][]string {
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = -1, true, true
	if tabs {
		in.Comma = '\t'
	}
	var rows [][]string
	for len(rows) < maxRows {
		record, err := in.Read()
		if err != nil {
			break
		}
		row := make([]string, 0, min(len(record), maxColumns))
		for _, cell := range record[:min(len(record), maxColumns)] {
			row = append(row, clip.Marked(cell, maxCell))
		}
		rows = append(rows, row)
	}
	return rows
}
