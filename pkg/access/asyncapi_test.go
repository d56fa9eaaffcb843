package access_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Programs outside the engine may use a subject only if /asyncapi.json says what is there. What runners ask a scheduler to write is
// internal, and its form may change.
func TestEachSubjectOfProgramsOutsideIsDescribed(t *testing.T) {
	n := events.NewNames("jobs")
	var addresses []string
	for _, c := range verb.AsyncAPI("", n)["channels"].(map[string]any) { // any order: each is compared.
		if address, ok := c.(map[string]any)["address"].(string); ok {
			addresses = append(addresses, address)
		}
	}
	for _, row := range access.Table(n) {
		outside := func(r access.Role) bool {
			return slices.Contains([]access.Role{access.Runner, access.Client, access.Viewer}, r)
		}
		internal := strings.HasPrefix(row.Subject, "jobs.card.") || strings.HasPrefix(row.Subject, "jobs.keep.")
		ours := strings.HasPrefix(row.Subject, "jobs.")
		if !ours || internal || !slices.ContainsFunc(slices.Concat(row.Publish, row.Subscribe), outside) {
			continue
		}
		form := strings.NewReplacer(".", `\.`, "*", `[^.]+`, "{pool}", `[^.]+`, ">", `.+`).Replace(row.Subject)
		if !slices.ContainsFunc(addresses, regexp.MustCompile("^"+form+"$").MatchString) {
			t.Errorf("%s (%s) is not described", row.Subject, row.About)
		}
	}
}
