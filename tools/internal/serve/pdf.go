package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jobgraph/jobgraph/tools/internal/document"
)

// maxText is how much text of a PDF is shown, in bytes.
const maxText = 48 << 10

const pdfText = "Reads the text of a PDF file of the workspace, page by page. Long texts are cut at a page, which says where to go on; save puts all of it into " +
	"a file in place. Pictures of text are not read."

// pdfArgs are the arguments of the tool pdf.
type pdfArgs struct {
	Path  string `json:"path" jsonschema:"path of the file"`
	Pages string `json:"pages,omitempty" jsonschema:"numbers and ranges such as 1-5,8 or 12-; all when left out"`
	Save  string `json:"save,omitempty" jsonschema:"path of a text file that gets the text in place of the answer"`
}

func (s *Settings) pdf(ctx context.Context, a *pdfArgs) (text string, err error) {
	path, err := s.Dir.Find(a.Path)
	if err != nil {
		return "", err
	}
	ctx, end := context.WithTimeout(ctx, defaultTime)
	defer end()
	d, err := document.Open(path, a.Path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	pages, err := document.Range(a.Pages, d.Pages())
	if err != nil {
		return "", err
	}
	if a.Save == "" {
		var b strings.Builder
		err := writePages(ctx, d, pages, &b, maxText)
		return b.String(), err
	}
	to, err := s.Dir.Place(a.Save)
	if err != nil {
		return "", err
	}
	file, err := os.Create(to)
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	err = writePages(ctx, d, pages, file, 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("the text of %d of %d pages is in %s", len(pages), d.Pages(), a.Save), nil
}

// writePages writes the text of pages, up to a limit in bytes; 0 means no limit. A page that cannot be read is named and skipped.
func writePages(ctx context.Context, d *document.Document, pages []int, w io.Writer, limit int) error {
	written, words := 0, false
	for i, number := range pages {
		text, err := d.Page(ctx, number)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("reading took too long at page %d of %d: name fewer pages", number, d.Pages())
		case err != nil:
			text = "[" + err.Error() + "]"
		case text == "":
			text = "[no text on this page]"
		default:
			words = true
		}
		page := fmt.Sprintf("--- page %d of %d ---\n%s\n", number, d.Pages(), text)
		if limit > 0 && written+len(page) > limit {
			if i == 0 {
				page = strings.ToValidUTF8(page[:limit], "") + "\n[the rest of this page is left out: save it to a file]\n"
				i++
			} else {
				page = ""
			}
			if i < len(pages) {
				page += fmt.Sprintf("[%d further pages: go on with pages %d-, or save them to a file]\n", len(pages)-i, pages[i])
			}
			_, err := io.WriteString(w, page)
			return err
		}
		written += len(page)
		if _, err := io.WriteString(w, page); err != nil {
			return err
		}
	}
	if !words {
		_, err := io.WriteString(w, "[there is no text on these pages: they are pictures, such as scans]\n")
		return err
	}
	return nil
}
