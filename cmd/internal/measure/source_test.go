package main

import (
	"testing"
	"testing/fstest"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestLinesAreCountedByWhatStandsOnThem(t *testing.T) {
	tree := musttest.Get(lint.Load(fstest.MapFS{
		"pkg/a/a.go": {Data: []byte("// Package a does\n// nothing.\npackage a\n\nvar x = 1 // one\n\n/* many\n\nlines */\nvar y = 2\n")},
	}))(t)
	if got, want := count(tree.Go[0], tree), (counted{code: 3, comment: 4, blank: 3}); got != want {
		t.Errorf("count = %+v, want %+v", got, want)
	}
}

func TestHelpersAreWhatNoTestCommandRuns(t *testing.T) {
	tree := musttest.Get(lint.Load(fstest.MapFS{
		"pkg/a/a_test.go": {Data: []byte("package a\n\ntype world struct{}\n\nfunc TestIt(t *testing.T) {\n\tmake()\n}\n\nfunc make() {\n}\n\nfunc (world) TestNot() {\n}\n\nfunc Testimony() {\n}\n")},
	}))(t)
	rows := testLines(tree)
	if rows[1].now != "66 %" || rows[1].good || rows[2].now != "1" || !rows[2].good {
		t.Errorf("testLines = %+v, want 6 of 9 lines in helpers and one world", rows)
	}
}

func TestPrivateWordsAreFoundInCommentsTextsAndDocuments(t *testing.T) {
	tree := musttest.Get(lint.Load(fstest.MapFS{
		"README.md":       {Data: []byte("Whoever reads this.\n")},
		"CHANGELOG.md":    {Data: []byte("Nobody counts here.\n")},
		"pkg/a/a.go":      {Data: []byte("// Package a starts anew.\npackage a\n\nvar nobody, all = \"nobody\", \"for nobody\"\n")},
		"pkg/a/a_test.go": {Data: []byte("package a\n\nvar text = \"somebody\"\n")},
	}))(t)
	if got := words(tree); got.now != "3" || got.good {
		t.Errorf("words = %+v, want 3: a document, a comment and a text", got)
	}
}
