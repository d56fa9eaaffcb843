package graph

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// samples are values that are not empty, by type.
var samples = []any{
	"text <&> \"quoted\"\n目标", true, 7, int32(-3), uint64(1<<63 + 1), 0.5, time.Date(2026, 11, 21, 8, 0, 0, 120, time.UTC), events.Running, events.WorkSplit, events.KindSessionEnded,
	events.Duration(time.Minute),
	[]string{"a", "<b>"},
	[]int32{1, -2},
	[]uint64{3, 1 << 63},
	Spec{Seq: 1, ID: "s", Edits: []uint64{2}},
	map[string]json.RawMessage{"p.q": json.RawMessage(`{ "k" : 1 }`)},
	&events.Fault{Code: events.CodeInternal, Message: "m"},
	[]events.Tenure{{Pool: "p", Run: 2}},
	[]Version{{Run: 1, Status: events.Failed, Seq: 2, Reason: "rerun", Cause: 3}},
}

func sample(t *testing.T, kind reflect.Type) reflect.Value {
	t.Helper()
	for _, s := range samples {
		if v := reflect.ValueOf(s); v.Type() == kind {
			return v
		}
	}
	t.Fatalf("no sample for a field of type %s: add one", kind)
	return reflect.Value{}
}

func TestAStateIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	check := func(s *State) {
		t.Helper()
		want := musttest.JSON(t, s)
		got, err := s.marshal()
		if err != nil || string(got) != string(want) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
	check(&State{ID: "j", SubJobs: []*SubJobState{}})
	check(&State{ID: "j", Labels: map[string]string{"subjobs": "null}"}, SubJobs: []*SubJobState{{}, {ID: "a"}}})
	whole := reflect.New(reflect.TypeFor[SubJobState]())
	for i := range whole.Elem().NumField() {
		one := reflect.New(whole.Type().Elem())
		value := sample(t, one.Elem().Field(i).Type())
		one.Elem().Field(i).Set(value)
		whole.Elem().Field(i).Set(value)
		check(&State{SubJobs: []*SubJobState{one.Interface().(*SubJobState)}})
	}
	check(&State{SubJobs: []*SubJobState{whole.Interface().(*SubJobState), whole.Interface().(*SubJobState)}})
	for _, spec := range []Spec{{ID: "s"}, {Edits: []uint64{}}} {
		check(&State{SubJobs: []*SubJobState{{Spec: spec}}})
	}
}
