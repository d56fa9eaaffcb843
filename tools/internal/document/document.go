package document

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Document is an open file.
type Document struct {
	file   *os.File
	reader *pdf.Reader
	pages  int
}

// Open opens a file. The error says whether the file is protected, damaged or not a PDF.
func Open(path, name string) (d *Document, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%s is damaged: %v", name, value)
		}
		if err != nil {
			_ = file.Close() // It was only read.
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	head := make([]byte, 1024)
	n, _ := file.ReadAt(head, 0) // A short file causes an error, which does not matter.
	if !strings.Contains(string(head[:n]), "%PDF-") {
		return nil, fmt.Errorf("%s is no PDF: it begins with %.16q", name, head[:n])
	}
	reader, err := pdf.NewReader(file, info.Size())
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, fmt.Errorf("%s is protected by a password: ask for a copy without one", name)
	case err != nil:
		return nil, fmt.Errorf("%s is damaged or unfinished: %w; repair it by a program, or ask for another copy", name, err)
	}
	d = &Document{file: file, reader: reader, pages: reader.NumPage()}
	if d.pages <= 0 {
		return nil, fmt.Errorf("%s is damaged: it has no pages", name)
	}
	return d, nil
}

// Close closes the file.
func (d *Document) Close() error { return d.file.Close() }

// Pages returns the number of pages.
func (d *Document) Pages() int { return d.pages }

// Page returns the text of a page, counted from 1. It may be empty: a picture has no text.
func (d *Document) Page(ctx context.Context, number int) (text string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("page %d is damaged: %v", number, value)
		}
	}()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	page := d.reader.Page(number)
	if page.V.IsNull() {
		return "", fmt.Errorf("page %d is missing in the file", number)
	}
	text, err = page.GetPlainText(nil)
	if err != nil {
		return "", fmt.Errorf("page %d is damaged: %w", number, err)
	}
	return tidy(text), nil
}

// tidy removes white space that only makes a text longer.
func tidy(text string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	lines = slices.CompactFunc(lines, func(a, b string) bool { return a == "" && b == "" })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Range parses page numbers such as "3", "1-5,8" or "12-"; an empty text means all pages. They are returned in order, each once.
func Range(text string, pages int) ([]int, error) {
	if strings.TrimSpace(text) == "" {
		text = "1-"
	}
	wanted := make([]bool, pages+1)
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(strings.TrimSpace(first))
		to := from
		if isRange && err == nil {
			if to = pages; strings.TrimSpace(last) != "" {
				to, err = strconv.Atoi(strings.TrimSpace(last))
			}
		}
		if err != nil || from < 1 || to < from {
			return nil, fmt.Errorf("bad pages %q: use numbers and ranges, such as 1-5,8", text)
		}
		if from > pages {
			return nil, fmt.Errorf("there is no page %d: the file has %d", from, pages)
		}
		for n := from; n <= min(to, pages); n++ {
			wanted[n] = true
		}
	}
	var list []int
	for n, is := range wanted {
		if is {
			list = append(list, n)
		}
	}
	return list, nil
}
