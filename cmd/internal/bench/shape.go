package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

// Shape is a workload defined by its graphs.
type Shape struct {
	// Name is chain, fan, random, mesh or flat.
	Name string `json:"name"`
	// Size is the number of nodes of a chain or mesh, the width of a fan, or the number of DAGs of random and flat.
	Size int `json:"size"`
}

const (
	dagNodes = 10 // The number of nodes of one random DAG.
	seed     = 11 // The same graphs in every run.
)

// meshEdges gives the deep mesh 200,000 edges at 13,000 nodes.
const meshEdges = 200_000.0 / 13_000

// Graphs builds the graphs, the same at every call.
func (s Shape) Graphs() ([]baseline.Graph, error) {
	if s.Size < 1 {
		return nil, fmt.Errorf("size %d of %s: must be at least 1", s.Size, s.Name)
	}
	switch s.Name {
	case "chain":
		return []baseline.Graph{chain(s.Size)}, nil
	case "fan":
		return []baseline.Graph{fan(s.Size)}, nil
	case "mesh":
		return []baseline.Graph{mesh(s.Size)}, nil
	case "random":
		return dags(s.Size), nil
	case "flat":
		return slices.Repeat([]baseline.Graph{{nil}}, s.Size), nil
	}
	return nil, fmt.Errorf("workload %q has no graphs", s.Name)
}

// chain returns n nodes, each after the previous one.
func chain(n int) baseline.Graph {
	g := make(baseline.Graph, n)
	for i := 1; i < n; i++ {
		g[i] = []int{i - 1}
	}
	return g
}

// fan returns one node, n nodes after it, and one after all of them.
func fan(n int) baseline.Graph {
	g := make(baseline.Graph, n+2)
	for i := 1; i <= n; i++ {
		g[i] = []int{0}
		g[n+1] = append(g[n+1], i)
	}
	return g
}

// dags returns n graphs of ten nodes, each node after one to three earlier ones.
func dags(n int) []baseline.Graph {
	chance := rand.New(rand.NewPCG(seed, seed))
	list := make([]baseline.Graph, n)
	for k := range list {
		g := make(baseline.Graph, dagNodes)
		for i := 1; i < dagNodes; i++ {
			g[i] = chance.Perm(i)[:1+chance.IntN(min(i, 3))]
			slices.Sort(g[i])
		}
		list[k] = g
	}
	return list
}

// mesh returns one graph as deep as ten thirteenths of its nodes: a chain whose nodes also depend on many earlier ones,
// the other nodes depending on it, with about fifteen edges per node.
func mesh(n int) baseline.Graph {
	chance := rand.New(rand.NewPCG(seed, seed))
	spine, wanted := max(1, n*10/13), int(float64(n)*meshEdges)
	g, edges := make(baseline.Graph, n), 0
	for i := 1; i < n; i++ {
		before, among := map[int]bool{}, max(1, spine-1)
		if i < spine {
			before[i-1], among = true, i
		}
		// The remaining edges are spread over the remaining nodes.
		for want := (wanted - edges) / (n - i); len(before) < min(max(want, 1), among); {
			before[chance.IntN(among)] = true
		}
		for p := range before {
			g[i] = append(g[i], p)
		}
		slices.Sort(g[i])
		edges += len(g[i])
	}
	return g
}

// nodes counts the nodes of all graphs.
func nodes(graphs []baseline.Graph) int {
	total := 0
	for _, g := range graphs {
		total += len(g)
	}
	return total
}
