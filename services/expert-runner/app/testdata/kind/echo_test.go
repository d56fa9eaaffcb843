package app_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func TestAnEchoIsAnExpertLikeAnyOther(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, cards(t, "name: Parrot\nkind: echo\nword: hello"), app.Deps{})
		o := work("parrot", "j", "a", 1)
		w.Issue(o)
		if got := string(w.Report(o).Output); got != `"hello do it"` {
			t.Errorf("the echo says %s", got)
		}
	})
}

func TestTheKeysOfAnEchoAreItsOwn(t *testing.T) {
	for card, want := range map[string]string{
		"name: X\nkind: echo":                         "an echo needs a word",
		"name: X\nkind: human\nword: hello":           "the keys of kind echo are for that kind alone",
		"name: X\nkind: ecko\nword: hello":            "did you mean echo?",
		"name: X\nkind: echo\nword: a\nsandbox: none": "the keys of kind command are for that kind alone",
	} {
		_, err := app.CheckCards([]string{cardFile(t, t.TempDir(), "x.md", card)}, noEnv)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", card, err, want)
		}
	}
}
