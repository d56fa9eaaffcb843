package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

func TestAValueOfAnotherTypeIsNamedInWordsOfJSON(t *testing.T) {
	for body, want := range map[string]string{
		`{"goal":5}`:                           "a number instead of a string",
		`{"goal":["x"]}`:                       "an array instead of a string",
		`{"goal":"g","labels":"x"}`:            "a string instead of an object",
		`{"goal":"g","labels":{"a":1}}`:        "a number instead of a string",
		`{"goal":"g","limits":[]}`:             "an array instead of an object",
		`{"goal":"g","attachments":{}}`:        "an object instead of an array",
		`{"goal":"g","priority":true}`:         "true or false instead of a number",
		`{"goal":"g","meta":"x"}`:              "a string instead of an object",
		`{"goal":"g","auto_accept":{}}`:        "an object instead of true or false",
		`{"goal":"g","limits":{"tokens":"y"}}`: "tokens: a string instead of a number",
	} {
		_, faults := events.DecodeRequest([]byte(body))
		if len(faults) == 0 || !strings.HasSuffix(faults[0].Cause, want) || strings.Contains(faults[0].Cause, "json:") {
			t.Errorf("%s: %+v, want %s", body, faults, want)
		}
	}
	var into struct {
		Ref struct{ At uint8 }
	}
	for body, want := range map[string]string{`{"ref":{"at":300}}`: "Ref.At: the number 300 does not fit", `{"ref":{"at":"x"}}`: "Ref.At: a string instead of a number"} {
		if got := plainjson.Misfit(json.Unmarshal([]byte(body), &into)); !strings.EqualFold(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
