package plainjson_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

func TestFieldsThatATypeDoesNotHaveAreFoundAtAnyDepth(t *testing.T) {
	type inner struct {
		A int  `json:"a"`
		B *int `json:"b,omitempty"`
	}
	type Base struct{ C string }
	var into struct {
		Base
		List  []inner                    `json:"list"`
		Named map[string]*inner          `json:"named"`
		Free  map[string]json.RawMessage `json:"free"`
		At    time.Time                  `json:"at"`
		Own   inner                      `json:"own"`
		No    int                        `json:"-"`
	}
	for text, want := range map[string][]plainjson.Stray{
		`{"c":"","LIST":[],"own":{"A":1},"free":{"x":{"y":1}},"at":"2026-01-01T00:00:00Z"}`: nil,
		`{"list":[{},{"a":1,"z":2}]}`:                 {{Path: "list[1].z", Known: []string{"a", "b"}}},
		`{"named":{"x":{"q":1}},"own":{"r":{"s":1}}}`: {{Path: "named.x.q", Known: []string{"a", "b"}}, {Path: "own.r", Known: []string{"a", "b"}}},
		`{"No":1}`: {{Path: "No", Known: []string{"C", "at", "free", "list", "named", "own"}}},
		`{"own":[{"q":1}],"list":{"q":1},"named":null}`: nil,
		`nothing`: nil,
	} {
		if got := plainjson.Strays([]byte(text), &into); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
