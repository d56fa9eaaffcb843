package serve_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"

	reader "github.com/jobgraph/jobgraph/tools/internal/document"
)

// document makes a PDF whose pages have a heading and paragraphs.
func document(t testing.TB, pages, paragraphs int, password string) string {
	t.Helper()
	p := fpdf.New("P", "mm", "A4", "")
	if password != "" {
		p.SetProtection(0, password, password+" of the owner")
	}
	p.SetFont("Helvetica", "", 11)
	for i := range pages {
		p.AddPage()
		if paragraphs == 0 {
			continue
		}
		p.Cell(0, 8, fmt.Sprintf("Chapter %d", i+1))
		for k := range paragraphs {
			p.Ln(8)
			p.MultiCell(0, 5, strings.Repeat(fmt.Sprintf("The fox %d jumps over the dog. ", k), 6), "", "", false)
		}
	}
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextOfPDFIsReadPageByPage(t *testing.T) {
	whole := document(t, 60, 8, "")
	b := open(t, map[string]string{"a.pdf": whole, "blank.pdf": document(t, 2, 0, "")})
	b.gives("pdf", args{"path": "a.pdf", "pages": "2-3, 7,2"}, "--- page 2 of 60 ---\nChapter 2\nThe fox 0 jumps", "--- page 3 of 60", "--- page 7 of 60")
	said, _ := b.call("pdf", args{"path": "a.pdf"})
	if len(said) > 49<<10 || !strings.Contains(said, "Chapter 1\n") || !strings.Contains(said, " further pages: go on with pages ") {
		t.Errorf("%d bytes: %.200s … %s", len(said), said, said[max(0, len(said)-200):])
	}
	b.gives("pdf", args{"path": "a.pdf", "save": "text/a.txt"}, "the text of 60 of 60 pages is in text/a.txt")
	if saved := b.read("text/a.txt"); !strings.Contains(saved, "--- page 60 of 60 ---\nChapter 60\n") {
		t.Errorf("saved %d bytes", len(saved))
	}
	b.gives("pdf", args{"path": "blank.pdf"}, "[no text on this page]", "they are pictures, such as scans")
}

func TestAPDFThatCannotBeReadSaysWhy(t *testing.T) {
	whole := document(t, 3, 2, "")
	b := open(t, map[string]string{
		"a.pdf": whole, "locked.pdf": document(t, 1, 1, "secret"), "cut.pdf": whole[:len(whole)/2], "text.pdf": "hello", "empty.pdf": "",
		"noise.pdf": strings.ReplaceAll(whole, "endobj", "endxxx"),
	})
	for file, why := range map[string]string{
		"locked.pdf": "locked.pdf is protected by a password", "cut.pdf": "cut.pdf is damaged or unfinished", "text.pdf": `text.pdf is no PDF: it begins with "hello"`,
		"empty.pdf": "no PDF", "absent.pdf": "there is no file absent.pdf", "../a.pdf": "outside the workspace", "noise.pdf": "damaged",
	} {
		b.fails("pdf", args{"path": file}, why)
	}
	for pages, why := range map[string]string{"x": "bad pages", "0": "bad pages", "3-2": "bad pages", "4": "there is no page 4: the file has 3", "-2": "bad pages"} {
		b.fails("pdf", args{"path": "a.pdf", "pages": pages}, why)
	}
	b.fails("pdf", args{"path": "a.pdf", "save": "/tmp/x.txt"}, "outside the workspace")
}

// BenchmarkPDF reads a document of 300 pages.
func BenchmarkPDF(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.pdf")
	if err := os.WriteFile(path, []byte(document(b, 300, 12, "")), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d, err := reader.Open(path, "a.pdf")
		if err != nil {
			b.Fatal(err)
		}
		for n := range d.Pages() {
			if text, err := d.Page(b.Context(), n+1); err != nil || text == "" {
				b.Fatal(n, err)
			}
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
