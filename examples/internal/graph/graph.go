package graph

import (
	"cmp"
	"slices"
)

// Entity is one thing that was found.
type Entity struct {
	// ID is unique in a graph and the same on each extraction: "<kind>:<where or name>".
	ID string `json:"id"`
	// Kind is one word, such as package, type, func, document, heading, term or name.
	Kind string `json:"kind"`
	// Name is what a reader calls it.
	Name string `json:"name"`
	// File is the file in which it was found first, relative to the root; empty for what lies outside.
	File string `json:"file,omitempty"`
	// Line is its line in the file, counted from 1; 0 if it has none.
	Line int `json:"line,omitempty"`
	// Weight is how often it was seen.
	Weight int `json:"weight,omitempty"`
}

// Relation leads from one entity to another.
type Relation struct {
	// From is the id of the entity at the start.
	From string `json:"from"`
	// To is the id of the entity at the end.
	To string `json:"to"`
	// Kind is one verb, such as declares, imports, calls, uses, contains, links, mentions or cooccurs.
	Kind string `json:"kind"`
	// Weight is how often it was seen, at least 1.
	Weight int `json:"weight"`
}

// Graph is a set of entities and relations, each sorted by what identifies it.
type Graph struct {
	// Entities are ordered by ID.
	Entities []Entity `json:"entities"`
	// Relations are ordered by From, To, Kind; both ends are among the entities.
	Relations []Relation `json:"relations"`
}

// Builder gathers a graph. The zero value is not ready: use NewBuilder.
type Builder struct {
	entities  map[string]*Entity
	relations map[edge]int
}

type edge struct{ from, to, kind string }

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{entities: map[string]*Entity{}, relations: map[edge]int{}}
}

// Add adds an entity. If there is one with the same id, it only adds the weight, at least 1, to that one.
func (b *Builder) Add(e Entity) {
	e.Weight = max(e.Weight, 1)
	if known := b.entities[e.ID]; known != nil {
		known.Weight += e.Weight
		return
	}
	b.entities[e.ID] = &e
}

// Has reports whether an entity with this id was added.
func (b *Builder) Has(id string) bool { return b.entities[id] != nil }

// Relate adds weight to a relation. A relation of an entity to itself is dropped.
func (b *Builder) Relate(from, to, kind string, weight int) {
	if from != to && weight > 0 {
		b.relations[edge{from, to, kind}] += weight
	}
}

// Merge adds everything of g.
func (b *Builder) Merge(g Graph) {
	for _, e := range g.Entities {
		b.Add(e)
	}
	for _, r := range g.Relations {
		b.Relate(r.From, r.To, r.Kind, max(r.Weight, 1))
	}
}

// Graph returns what was collected. Relations whose ends were never added are left out.
func (b *Builder) Graph() Graph {
	g := Graph{Entities: []Entity{}, Relations: []Relation{}}
	for _, e := range b.entities {
		g.Entities = append(g.Entities, *e)
	}
	for k, w := range b.relations {
		if b.Has(k.from) && b.Has(k.to) {
			g.Relations = append(g.Relations, Relation{From: k.from, To: k.to, Kind: k.kind, Weight: w})
		}
	}
	g.sort()
	return g
}

func (g *Graph) sort() {
	slices.SortFunc(g.Entities, func(a, b Entity) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(g.Relations, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
}

// order returns 0 for relations between a whole and its parts, which Trim keeps first, and more for others.
func (r Relation) order() int {
	switch r.Kind {
	case "declares", "contains", "imports", "links":
		return 0
	}
	return 1
}

// Trim keeps the best connected entities, at most the given number, and of the relations among them those between a whole and its
// parts, then the heaviest. It returns how many entities and relations were cut.
func (g Graph) Trim(entities, relations int) (kept Graph, cutEntities, cutRelations int) {
	degree := map[string]int{}
	for _, r := range g.Relations {
		degree[r.From]++
		degree[r.To]++
	}
	kept.Entities = slices.Clone(g.Entities)
	slices.SortFunc(kept.Entities, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(degree[b.ID], degree[a.ID]), cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID))
	})
	kept.Entities = kept.Entities[:min(entities, len(kept.Entities))]
	in := map[string]bool{}
	for _, e := range kept.Entities {
		in[e.ID] = true
	}
	kept.Relations = []Relation{}
	for _, r := range g.Relations {
		if in[r.From] && in[r.To] {
			kept.Relations = append(kept.Relations, r)
		}
	}
	slices.SortStableFunc(kept.Relations, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(b.Weight, a.Weight))
	})
	kept.Relations = kept.Relations[:min(relations, len(kept.Relations))]
	kept.sort()
	return kept, len(g.Entities) - len(kept.Entities), len(g.Relations) - len(kept.Relations)
}
