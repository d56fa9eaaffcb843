package bench

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/bench/floor"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// The sides of a comparison.
const (
	SideFloor   = "floor"   // Written by hand, the least that is durable.
	SidePure    = "pure"    // Jobgraph with an expert that has no effects and is neither claimed nor journaled.
	SideClaimed = "claimed" // Jobgraph with an expert that is claimed and journaled.
)

// part is one service of a system. Its run blocks until the context ends.
type part struct {
	name string
	run  func(ctx context.Context, at address) error
}

// system is one of the things compared.
type system interface {
	// parts are its services, in the order they start.
	parts() []part
	// drive prepares the streams and gives what submits, over the connections of r, which r closes.
	drive(ctx context.Context, at address, r *reader) (driver, error)
}

// driver submits graphs to a running system and reads back what became of them.
type driver interface {
	// run submits the graphs under a word of its own each time, and returns when all of them have finished well.
	run(ctx context.Context, word string, graphs []floor.Graph) error
	// starts reads when each node of a run started, in nanoseconds since 1970, by graph and node.
	starts(ctx context.Context, word string, graphs []floor.Graph) ([][]int64, error)
	// writes counts what the server has stored since it was made.
	writes(ctx context.Context) (writes, error)
}

// writes counts stored messages.
type writes struct {
	// awaited lie between the completion of a node and the start of the next: the work, the report, and what is journaled.
	awaited uint64
	// total is all of them, in all streams.
	total uint64
}

// The systems of workloads that have no floor.
const (
	sideHang = "hang" // Jobgraph with commands, models and tools that never end.
	sideAsk  = "ask"  // Jobgraph with an expert that waits for an answer.
)

// systemOf gives the system behind the name of a side; k is what its runner has beside its own.
func systemOf(side string, k kit) (system, error) {
	switch side {
	case SideFloor:
		return floorSystem{}, nil
	case SidePure:
		return ours{experts: []runner.Function{noop(true)}}, nil
	case SideClaimed:
		return ours{experts: []runner.Function{noop(false)}}, nil
	case sideHang:
		return ours{kit: k}, nil
	case sideAsk:
		return ours{experts: []runner.Function{ask()}}, nil
	}
	return nil, fmt.Errorf("side %q: use %s, %s or %s", side, SideFloor, SidePure, SideClaimed)
}
