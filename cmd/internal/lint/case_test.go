package lint_test

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
)

// ruleCase is a small tree and the places where one rule must find something.
type ruleCase struct {
	name  string
	rule  func(*lint.Tree) []lint.Finding
	files map[string]string
	want  []string
}

// lines is a function body of n statements on n lines.
func lines(n int) string { return strings.Repeat("_ = 0\n", n) }

// missing is the rule about commands without its findings about the whole Makefile, which a case does not have.
func missing(whole string) func(*lint.Tree) []lint.Finding {
	return func(tree *lint.Tree) []lint.Finding {
		return slices.DeleteFunc(lint.Commands(tree), func(finding lint.Finding) bool {
			return finding.Line == 0 && finding.Path+": " == whole
		})
	}
}
