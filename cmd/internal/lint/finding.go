package lint

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is one place where a rule is broken.
type Finding struct {
	// Path is the file or folder, relative to the root of the repository, with forward slashes.
	Path string
	// Line counts from 1; 0 means the whole file or folder.
	Line int
	// Text says what is wrong and what to do instead.
	Text string
}

// String returns path:line: text, which editors and terminals turn into a link.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// sorted sorts findings by position, so that the same tree always gives the same report.
func sorted(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return found
}
