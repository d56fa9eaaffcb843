package access

import (
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Always is the start of something that has always been in force.
var Always = time.Unix(0, 0).UTC()

// planned are the facts by which plan operations change a job.
var planned = []events.Kind{events.KindPlanEdited, events.KindRetryRequested, events.KindRerunRequested, events.KindFailRequested}

// signer returns what the key of an identity may sign; ok is false if it may sign nothing.
func (i *Identity) signer() (s seal.Signer, ok bool) {
	s = seal.Signer{Name: i.Name, Key: i.Key}
	switch i.Role {
	case Admin, Scheduler:
		s.Users, s.Rights, s.Facts = []string{seal.Any}, []string{string(verb.Admin)}, []events.Kind{seal.Any}
	case Gateway:
		s.Users, s.Rights = []string{seal.Any}, []string{string(verb.Admin)}
	case Planner:
		s.Facts = planned
	case Client:
		if i.User != "" {
			s.Users = []string{i.User}
		}
		for _, right := range i.rights() {
			s.Rights = append(s.Rights, string(right))
		}
	case Runner: // It only describes payloads.
	default:
		return s, false
	}
	return s, true
}

// Signers returns the keys of a tenant whose signatures count, and those whose signatures counted before.
func (t *Tenant) Signers() seal.Signers {
	list := seal.Signers{Since: t.Since, Journals: t.Journals}
	if list.Journals.IsZero() {
		list.Journals = Always
	}
	for at := range t.Identities {
		if s, ok := t.Identities[at].signer(); ok {
			list.Signers = append(list.Signers, s)
		}
	}
	list.Signers = append(list.Signers, t.Retired...)
	return list
}

// Retire notes that the key of an identity signs nothing from a time on.
func (t *Tenant) Retire(i *Identity, from time.Time) {
	if s, ok := i.signer(); ok && i.Key != "" && !slices.ContainsFunc(t.Retired, func(have seal.Signer) bool { return have.Key == i.Key }) {
		s.Until = &from
		t.Retired = append(t.Retired, s)
	}
}
