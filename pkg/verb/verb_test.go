package verb_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// TestEachRoleMayDoWhatTheTableOfPermissionsSays repeats the rights of roles in a second place, so that a change of the table of
// verbs that widens or narrows them has to be made here as well.
func TestEachRoleMayDoWhatTheTableOfPermissionsSays(t *testing.T) {
	want := musttest.Read(t, "testdata/permissions.txt")
	var got strings.Builder
	for _, v := range verb.All() {
		var may []string
		for _, r := range verb.Roles() {
			if v.Permits([]verb.Role{r}) {
				may = append(may, string(r))
			}
		}
		fmt.Fprintf(&got, "%-24s %-8s %s\n", v.Name, v.Effect, strings.Join(may, " "))
	}
	musttest.Equal(t, string(want), got.String())
}

func TestNobodyMayDoAnythingWithoutARole(t *testing.T) {
	for _, v := range verb.All() {
		if v.Permits(nil) || v.Permits([]verb.Role{"root"}) {
			t.Error(v.Name)
		}
	}
}

func TestNamesAndRoutesAreOnceInTheTable(t *testing.T) {
	seen := map[string]string{}
	for _, v := range verb.All() {
		keys := []string{v.Name}
		for _, p := range v.Paths() {
			keys = append(keys, v.Method+" "+p)
		}
		for _, k := range keys {
			if other, ok := seen[k]; ok {
				t.Errorf("%s: of %s and of %s", k, other, v.Name)
			}
			seen[k] = v.Name
		}
	}
}

func TestWhatChangesSomethingIsNotForThoseWhoOnlyRead(t *testing.T) {
	for _, v := range verb.All() {
		if v.Effect != verb.Read && slices.Contains(v.Roles, verb.Viewer) {
			t.Errorf("%s: %s", v.Name, v.Effect)
		}
		if v.Effect != verb.Read && v.Method == http.MethodGet {
			t.Errorf("%s changes something by GET", v.Name)
		}
	}
}
