package rank

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

// Limits on what an analysis returns.
const (
	topCount     = 40
	kindCount    = 10
	pictureCount = 36
	shareOfKind  = 4 // a kind gets at most a quarter of the picture
	linesEach    = 3 // lighter relations are drawn only for an entity that has fewer
)

// Analysis is the result of all measures.
type Analysis struct {
	// Counts are the sizes of the graph.
	Counts Counts `json:"counts"`
	// Kinds counts the entities of each kind, the most frequent first.
	Kinds []Count `json:"kinds"`
	// Relations counts the relations of each kind, the most frequent first.
	Relations []Count `json:"relations"`
	// Ranked are the most important entities, best first, over all kinds.
	Ranked []Ranked `json:"ranked"`
	// ByKind are the most important entities of each kind, best first.
	ByKind map[string][]Ranked `json:"by_kind"`
	// Described are the places where prose names something in the code, the most frequent first.
	Described []Description `json:"described"`
	// Picture is the part of the graph worth drawing.
	Picture graph.Graph `json:"picture"`
}

// Counts are the sizes of a graph.
type Counts struct {
	// Entities is the number of entities.
	Entities int `json:"entities"`
	// Relations is the number of relations.
	Relations int `json:"relations"`
	// Components is the number of parts that no relation connects.
	Components int `json:"components"`
	// Largest is the number of entities in the largest part.
	Largest int `json:"largest"`
	// Alone is the number of entities without any relation.
	Alone int `json:"alone"`
}

// Count is how often something occurs.
type Count struct {
	// Kind is what is counted.
	Kind string `json:"kind"`
	// Count is how often it occurs.
	Count int `json:"count"`
}

// Ranked is an entity with its measures.
type Ranked struct {
	graph.Entity
	// Rank is the entity's PageRank in millionths of the whole.
	Rank int `json:"rank"`
	// In is the number of relations that lead to it.
	In int `json:"in"`
	// Out is the number of relations that lead from it.
	Out int `json:"out"`
}

// Description is a name in prose that is also a thing in the code.
type Description struct {
	// Name is the word as the prose uses it.
	Name string `json:"name"`
	// Code is the id of the entity in the code.
	Code string `json:"code"`
	// Times is how often the prose uses the word.
	Times int `json:"times"`
}

// Analyse measures the union of the graphs, after it has related prose to code of the same name.
func Analyse(graphs ...graph.Graph) Analysis {
	build := graph.NewBuilder()
	for _, g := range graphs {
		build.Merge(g)
	}
	described := describe(build)
	g := build.Graph()
	ranked := measure(g)
	a := Analysis{
		Kinds:     count(g.Entities, func(e graph.Entity) string { return e.Kind }),
		Relations: count(g.Relations, func(r graph.Relation) string { return r.Kind }),
		Ranked:    ranked[:min(topCount, len(ranked))], ByKind: map[string][]Ranked{}, Described: described,
	}
	for _, e := range ranked {
		if list := a.ByKind[e.Kind]; len(list) < kindCount {
			a.ByKind[e.Kind] = append(list, e)
		}
	}
	a.Counts = counts(g)
	a.Picture = picture(g, ranked)
	return a
}

// describe relates words of the prose to the things of the code that bear the same name. Only a name can mean a
// function: as plain terms, start or first mean something else.
func describe(build *graph.Builder) []Description {
	g := build.Graph()
	code := map[string][]string{}
	for _, e := range g.Entities {
		switch name := strings.ToLower(e.Name); e.Kind {
		case "package", "type":
			code["term:"+name] = append(code["term:"+name], e.ID)
			code["name:"+name] = append(code["name:"+name], e.ID)
		case "func", "definition":
			code["name:"+name] = append(code["name:"+name], e.ID)
		}
	}
	found := []Description{}
	for _, e := range g.Entities {
		if e.Kind != "name" && e.Kind != "term" {
			continue
		}
		word := strings.TrimPrefix(strings.ToLower(e.Name), "./")
		ids := code[e.Kind+":"+word]
		if i := strings.LastIndexByte(word, '.'); len(ids) == 0 && i >= 0 {
			ids = code[e.Kind+":"+word[i+1:]]
		}
		if len(ids) == 0 || len(ids) > 2 {
			continue
		}
		for _, id := range ids {
			build.Relate(e.ID, id, "describes", e.Weight)
			found = append(found, Description{Name: e.Name, Code: id, Times: e.Weight})
		}
	}
	slices.SortStableFunc(found, func(a, b Description) int { return cmp.Compare(b.Times, a.Times) })
	return found[:min(len(found), topCount)]
}

func count[T any](list []T, kind func(T) string) []Count {
	total := map[string]int{}
	for _, v := range list {
		total[kind(v)]++
	}
	counts := []Count{}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		counts = append(counts, Count{Kind: k, Count: total[k]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return counts
}

// measure returns all entities with their measures, best first.
func measure(g graph.Graph) []Ranked {
	in, out := map[string]int{}, map[string]int{}
	for _, r := range g.Relations {
		out[r.From]++
		in[r.To]++
	}
	shares := PageRank(g)
	ranked := make([]Ranked, len(g.Entities))
	for i, e := range g.Entities {
		ranked[i] = Ranked{Entity: e, Rank: int(math.Round(shares[i] * 1e6)), In: in[e.ID], Out: out[e.ID]}
	}
	slices.SortFunc(ranked, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(b.In+b.Out, a.In+a.Out), cmp.Compare(a.ID, b.ID))
	})
	return ranked
}

// picture picks the best entities of every kind that belongs to the tree itself, and drops those without a relation in the drawing.
func picture(g graph.Graph, ranked []Ranked) graph.Graph {
	build, of := graph.NewBuilder(), map[string]int{}
	left := pictureCount
	for _, e := range ranked {
		outside := e.Kind == "library" || e.Kind == "site" || e.Kind == "heading"
		if left == 0 || outside || of[e.Kind] >= pictureCount/shareOfKind {
			continue
		}
		of[e.Kind]++
		left--
		e.Weight = max(e.Rank, 1)
		build.Add(e.Entity)
	}
	touched := map[string]int{}
	byWeight := slices.Clone(g.Relations)
	slices.SortStableFunc(byWeight, func(a, b graph.Relation) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, r := range byWeight {
		if build.Has(r.From) && build.Has(r.To) && min(touched[r.From], touched[r.To]) < linesEach {
			build.Relate(r.From, r.To, r.Kind, r.Weight)
			touched[r.From]++
			touched[r.To]++
		}
	}
	drawn := build.Graph()
	if len(touched) > 0 {
		drawn.Entities = slices.DeleteFunc(drawn.Entities, func(e graph.Entity) bool { return touched[e.ID] == 0 })
	}
	return drawn
}
