package graph

import (
	"reflect"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// parts visits each pointer from one part of a job to another: its name, the index of its part and of the other in Job, and the
// address that it holds. The index is -1 for anything else.
func parts(job *Job, visit func(name string, at, other int, address uintptr)) {
	whole := reflect.ValueOf(job).Elem()
	places := map[reflect.Type]int{}
	for i := range whole.NumField() {
		places[whole.Field(i).Type()] = i
	}
	for i := range whole.NumField() {
		part := whole.Field(i)
		if part.Type().PkgPath() != whole.Type().PkgPath() || i == places[reflect.TypeFor[State]()] {
			continue
		}
		for j := range part.NumField() {
			field := part.Field(j)
			if field.Kind() != reflect.Pointer {
				continue
			}
			other, ok := places[field.Type().Elem()]
			if !ok {
				other = -1
			}
			visit(part.Type().Name()+"."+part.Type().Field(j).Name, i, other, field.Pointer())
		}
	}
}

func TestAPartOfAJobKnowsOnlyThePartsBeforeIt(t *testing.T) {
	seen := 0
	parts(&Job{}, func(name string, at, other int, _ uintptr) {
		seen++
		if other < 0 || other >= at {
			t.Errorf("%s is no part before this one in Job", name)
		}
	})
	if seen < 30 {
		t.Errorf("%d pointers between parts", seen)
	}
}

func TestThePartsOfANewJobAndOfALoadedOneKnowEachOther(t *testing.T) {
	made := start(t, nil).job
	loaded := &Job{}
	musttest.Decode(t, musttest.JSON(t, made), loaded)
	for _, job := range []*Job{made, loaded} {
		parts(job, func(name string, _, other int, address uintptr) {
			if want := reflect.ValueOf(job).Elem().Field(other).UnsafeAddr(); address != want {
				t.Errorf("%s does not know its part of this job", name)
			}
		})
	}
}
