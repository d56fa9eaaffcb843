package rank_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/rank"
)

// build makes a graph of relations given as from, kind, to; entities are of the kind before the colon of their id.
func build(relations ...[3]string) graph.Graph {
	b := graph.NewBuilder()
	for _, r := range relations {
		for _, id := range []string{r[0], r[2]} {
			kind, name, _ := cut(id)
			b.Add(graph.Entity{ID: id, Kind: kind, Name: name})
		}
		b.Relate(r[0], r[2], r[1], 1)
	}
	return b.Graph()
}

func cut(id string) (kind, name string, ok bool) {
	for i := range id {
		if id[i] == ':' {
			return id[:i], id[i+1:], true
		}
	}
	return id, "", false
}

func TestPageRankOfAStarIsTheKnownOne(t *testing.T) {
	g := build([3]string{"func:a", "calls", "func:hub"}, [3]string{"func:b", "calls", "func:hub"}, [3]string{"func:c", "calls", "func:hub"})
	got := rank.PageRank(g)
	// leaf = 0.15/4 + 0.85*hub/4, hub = leaf + 0.85*3*leaf, and all four add up to 1.
	leaf := 1 / (3 + 3.55)
	want := []float64{leaf, leaf, leaf, 3.55 * leaf}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestSharesAddUpToOneWhateverTheShape(t *testing.T) {
	for name, g := range map[string]graph.Graph{
		"ring":  build([3]string{"a:1", "calls", "a:2"}, [3]string{"a:2", "calls", "a:1"}),
		"parts": build([3]string{"a:1", "declares", "a:2"}, [3]string{"a:3", "cooccurs", "a:4"}, [3]string{"a:3", "mentions", "a:5"}),
		"one":   {Entities: []graph.Entity{{ID: "a:1"}}},
	} {
		sum := 0.0
		for _, share := range rank.PageRank(g) {
			sum += share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: shares add up to %v", name, sum)
		}
	}
	if got := rank.PageRank(graph.Graph{}); got != nil {
		t.Errorf("nothing has the shares %v", got)
	}
}

func TestProseIsRelatedToCodeOfTheSameName(t *testing.T) {
	code := build([3]string{"package:Scheduler", "declares", "type:Job"}, [3]string{"package:Scheduler", "declares", "func:start"})
	text := build(
		[3]string{"document:README", "mentions", "name:scheduler.Job"}, [3]string{"document:README", "mentions", "term:scheduler"},
		[3]string{"document:README", "mentions", "term:start"})
	got := rank.Analyse(code, text)
	want := []rank.Description{
		{Name: "scheduler.Job", Code: "type:Job", Times: 1}, {Name: "scheduler", Code: "package:Scheduler", Times: 1},
	}
	if !reflect.DeepEqual(got.Described, want) {
		t.Errorf("got %+v, want %+v", got.Described, want)
	}
	if got.Counts != (rank.Counts{Entities: 7, Relations: 7, Components: 1, Largest: 7}) {
		t.Errorf("got %+v", got.Counts)
	}
}

func TestPartsAndLonersAreCounted(t *testing.T) {
	g := build([3]string{"a:1", "calls", "a:2"}, [3]string{"a:3", "calls", "a:4"}, [3]string{"a:4", "calls", "a:5"})
	g.Entities = append(g.Entities, graph.Entity{ID: "a:6", Kind: "a"})
	want := rank.Counts{Entities: 6, Relations: 3, Components: 3, Largest: 3, Alone: 1}
	if got := rank.Analyse(g).Counts; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestThePictureShowsNoLibraryAndNobodyAlone(t *testing.T) {
	g := build([3]string{"package:a", "imports", "library:fmt"}, [3]string{"package:a", "imports", "package:b"}, [3]string{"package:c", "imports", "library:fmt"})
	got := rank.Analyse(g).Picture
	var ids []string
	for _, e := range got.Entities {
		ids = append(ids, e.ID)
	}
	if want := []string{"package:a", "package:b"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("drawn are %v, want %v", ids, want)
	}
}
