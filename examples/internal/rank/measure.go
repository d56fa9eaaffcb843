package rank

import (
	"math"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

const (
	damping   = 0.85
	maxRounds = 100
	precision = 1e-9
)

// step is a link that a reader may follow.
type step struct {
	from, to int
	weight   float64
}

// steps turns relations into links to follow: along the relation, but from a part to the whole that holds it (a reader
// who sees a call of a method is interested in its type), and in both directions between words, and between a text and
// its words.
func steps(g graph.Graph) []step {
	at := positions(g)
	list := make([]step, 0, len(g.Relations))
	for _, r := range g.Relations {
		from, to, weight := at[r.From], at[r.To], float64(r.Weight)
		switch r.Kind {
		case "declares", "contains":
			list = append(list, step{to, from, weight})
		case "cooccurs", "mentions":
			list = append(list, step{from, to, weight}, step{to, from, weight})
		default:
			list = append(list, step{from, to, weight})
		}
	}
	return list
}

// PageRank returns the share of each entity, in the order of g.Entities: the probability that a walker is there
// who follows relations by their weight and now and then starts over. The shares add up to 1.
func PageRank(g graph.Graph) []float64 {
	n := len(g.Entities)
	if n == 0 {
		return nil
	}
	ways, total := steps(g), make([]float64, n)
	for _, s := range ways {
		total[s.from] += s.weight
	}
	share, next := make([]float64, n), make([]float64, n)
	for i := range share {
		share[i] = 1 / float64(n)
	}
	for range maxRounds {
		lost := 0.0
		for i := range share {
			next[i] = 0
			if total[i] == 0 {
				lost += share[i]
			}
		}
		for _, s := range ways {
			next[s.to] += share[s.from] * s.weight / total[s.from]
		}
		change := 0.0
		for i := range next {
			next[i] = (1-damping)/float64(n) + damping*(next[i]+lost/float64(n))
			change += math.Abs(next[i] - share[i])
		}
		share, next = next, share
		if change < precision {
			break
		}
	}
	return share
}

func positions(g graph.Graph) map[string]int {
	at := make(map[string]int, len(g.Entities))
	for i, e := range g.Entities {
		at[e.ID] = i
	}
	return at
}

// counts returns the sizes of g and of its parts.
func counts(g graph.Graph) Counts {
	at, parent := positions(g), make([]int, len(g.Entities))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, r := range g.Relations {
		parent[find(at[r.From])] = find(at[r.To])
	}
	size := map[int]int{}
	for i := range parent {
		size[find(i)]++
	}
	c := Counts{Entities: len(g.Entities), Relations: len(g.Relations), Components: len(size)}
	for _, s := range size {
		c.Largest = max(c.Largest, s)
		if s == 1 {
			c.Alone++
		}
	}
	return c
}
