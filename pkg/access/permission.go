package access

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Permissions are the subjects that an identity may use.
type Permissions struct {
	// Publish and Subscribe are subjects, sorted.
	Publish, Subscribe []string
	// Answers is true if the identity may also answer requests, on the reply subjects that they name.
	Answers bool
}

// Permissions returns what the table lists for an identity, and its inbox.
func (i *Identity) Permissions(n events.Names) Permissions {
	if i.Role == Admin {
		return Permissions{Publish: []string{">"}, Subscribe: []string{">"}}
	}
	p := Permissions{Subscribe: []string{i.Inbox() + ".>"}, Answers: i.Role.Inside() || i.Role == Runner}
	for _, row := range Table(n) {
		if slices.Contains(row.Publish, i.Role) && i.entitled(row.Verb) {
			p.Publish = append(p.Publish, i.concrete(row.Subject)...)
		}
		if slices.Contains(row.Subscribe, i.Role) {
			p.Subscribe = append(p.Subscribe, i.concrete(row.Subject)...)
		}
	}
	p.Publish, p.Subscribe = sorted(p.Publish), sorted(p.Subscribe)
	return p
}

// entitled reports whether an identity may use a verb; "" stands for no verb.
func (i *Identity) entitled(name string) bool {
	v, ok := verb.Find(name)
	return !ok || v.MayUse(i.rights())
}

// concrete replaces {pool} in a subject by each pool of a runner; for other roles it stands for all pools.
func (i *Identity) concrete(subject string) []string {
	if !strings.Contains(subject, "{pool}") || i.Role != Runner {
		return []string{strings.ReplaceAll(subject, "{pool}", "*")}
	}
	list := make([]string, len(i.Pools))
	for at, pool := range i.Pools {
		list[at] = strings.ReplaceAll(subject, "{pool}", pool)
	}
	return list
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
