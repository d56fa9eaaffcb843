package bus

import (
	"errors"
	"testing"
)

// A cluster that has just started has a leader before it has heard from all of its servers: replicas are refused until then, and the one who
// creates streams tries again. What the operator has to change is no reason to wait.
func TestARefusalOfReplicasIsTemporaryWhileServersAreAway(t *testing.T) {
	for description, want := range map[string]error{
		"no suitable peers for placement, peer offline":                         ErrUnavailable,
		"no suitable peers for placement, peer offline, miscellaneous issue":    ErrUnavailable,
		"no suitable peers for placement, insufficient storage":                 ErrRefused,
		"no suitable peers for placement, tags not matched ['ssd']":             ErrRefused,
		"no suitable peers for placement, peer offline, tags not matched ['a']": ErrUnavailable,
	} {
		r := refusal{Code: 400, ErrCode: codeNoPeers, Description: description}
		if err := r.err(); !errors.Is(err, want) {
			t.Errorf("%s: %v", description, err)
		}
	}
}
