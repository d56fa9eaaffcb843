package graph_test

import (
	"reflect"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

func TestRelationsWithoutBothEndsAreLeftOut(t *testing.T) {
	b := graph.NewBuilder()
	b.Add(graph.Entity{ID: "b", Kind: "k", Name: "b"})
	b.Add(graph.Entity{ID: "a", Kind: "k", Name: "a", Line: 3})
	b.Add(graph.Entity{ID: "a", Kind: "k", Name: "again", Line: 9})
	b.Relate("a", "b", "calls", 1)
	b.Relate("a", "b", "calls", 2)
	b.Relate("a", "a", "calls", 1)
	b.Relate("a", "nobody", "calls", 1)
	want := graph.Graph{
		Entities: []graph.Entity{
			{ID: "a", Kind: "k", Name: "a", Line: 3, Weight: 2}, {ID: "b", Kind: "k", Name: "b", Weight: 1},
		},
		Relations: []graph.Relation{{From: "a", To: "b", Kind: "calls", Weight: 3}},
	}
	if got := b.Graph(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTrimKeepsTheBestConnectedAndSaysWhatItCut(t *testing.T) {
	b := graph.NewBuilder()
	for _, id := range []string{"a", "b", "c", "alone"} {
		b.Add(graph.Entity{ID: id, Kind: "k", Name: id})
	}
	b.Relate("a", "b", "calls", 1)
	b.Relate("b", "c", "calls", 5)
	b.Relate("a", "c", "calls", 2)
	got, entities, relations := b.Graph().Trim(3, 2)
	if entities != 1 || relations != 1 || len(got.Entities) != 3 {
		t.Errorf("kept %+v, cut %d entities and %d relations", got, entities, relations)
	}
	want := []graph.Relation{{From: "a", To: "c", Kind: "calls", Weight: 2}, {From: "b", To: "c", Kind: "calls", Weight: 5}}
	if !reflect.DeepEqual(got.Relations, want) {
		t.Errorf("got %+v, want %+v", got.Relations, want)
	}
}
