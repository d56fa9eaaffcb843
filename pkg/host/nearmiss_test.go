package host_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
)

func TestANameThatSharesNoCharacterIsNotSuggested(t *testing.T) {
	if got := host.Near("zz", []string{"ok", "a"}); len(got) != 0 {
		t.Errorf("zz: %q", got)
	}
	if got := host.Near("oc", []string{"ok", "slow"}); len(got) != 1 || got[0] != "ok" {
		t.Errorf("oc: %q", got)
	}
}

func TestTheUsualNameOfAKeyIsTheOneOfAModel(t *testing.T) {
	if got := host.Meant("api_key", []string{"base_url", "key", "model"}); got != "key" {
		t.Errorf("api_key: %q, want key", got)
	}
}
