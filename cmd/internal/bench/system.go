package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// The sides of a comparison.
const (
	SideFloor   = "floor"   // Written by hand: the simplest durable program.
	SideAppend  = "append"  // The baseline with an additional append per node, which is awaited before the node runs, like a claim.
	SidePure    = "pure"    // Jobgraph with a pure expert, which is neither claimed nor journaled.
	SideClaimed = "claimed" // Jobgraph with an expert that is claimed and journaled.
	SideForeign = "foreign" // Jobgraph with a worker that uses only a NATS client.
	SideCommand = "command" // Jobgraph with the program `true`, started for each SubJob.
)

// sides lists all sides, in the order in which they run.
var sides = []string{SideFloor, SideAppend, SidePure, SideClaimed, SideForeign, SideCommand}

// part is one service of a system. Its run blocks until the context ends.
type part struct {
	name string
	run  func(ctx context.Context, at address) error
}

// system is the baseline, or Jobgraph in one of its configurations.
type system interface {
	// parts returns its services in the order of their start.
	parts() []part
	// drive prepares the streams and returns a driver, on the connections of r, which r closes.
	drive(ctx context.Context, at address, r *reader) (driver, error)
}

// driver submits graphs to a running system and reads the results.
type driver interface {
	// run submits the graphs under a unique word, and returns when all of them have finished successfully.
	run(ctx context.Context, word string, graphs []baseline.Graph) error
	// starts returns when each node of a run started, in nanoseconds since 1970, by graph and node.
	starts(ctx context.Context, word string, graphs []baseline.Graph) ([][]int64, error)
	// writes counts what the server has stored since its start.
	writes(ctx context.Context) (writes, error)
}

// writes counts stored messages.
type writes struct {
	// awaited counts the messages between the completion of a node and the start of the next: the work, the report, and
	// journal records.
	awaited uint64
	// total counts all messages, in all streams.
	total uint64
}

// The systems of workloads without a baseline.
const (
	sideHang = "hang" // Jobgraph with commands, models and tools that never end.
	sideAsk  = "ask"  // Jobgraph with an expert that waits for an answer.
	sideDoor = "door" // Jobgraph with a pure expert and a gateway.
)

// cards are the experts of the sides whose experts are not Go functions.
var cards = map[string]string{
	SideForeign: "kind: nats\npool: " + foreignPool + "\ntimeout: 1m\n",
	SideCommand: "kind: command\ncommand: [\"true\"]\n",
}

// furnish writes the card of a side's expert, if it has one, and adds it to the runner's kit.
func furnish(side, dir string, k *kit) error {
	card, has := cards[side]
	if !has {
		return nil
	}
	k.Cards = append(k.Cards, filepath.Join(dir, expertID+".md"))
	text := "---\nid: " + expertID + "\nname: " + expertID + "\n" + card + "---\nDoes nothing.\n"
	if err := os.WriteFile(k.Cards[len(k.Cards)-1], []byte(text), 0o600); err != nil {
		return fmt.Errorf("write card: %w", err)
	}
	return nil
}

// systemOf returns the system of a side; k is what its runner has besides its own.
func systemOf(side string, k kit) (system, error) {
	switch side {
	case SideFloor:
		return floorSystem{}, nil
	case SideAppend:
		return floorSystem{claims: true}, nil
	case SidePure:
		return ours{experts: []runner.Function{noop(true)}}, nil
	case SideClaimed:
		return ours{experts: []runner.Function{noop(false)}}, nil
	case SideForeign:
		return ours{kit: k, foreign: true}, nil
	case SideCommand:
		return ours{kit: k}, nil
	case sideHang:
		return ours{kit: k}, nil
	case sideDoor:
		return ours{kit: k, experts: []runner.Function{noop(true)}}, nil
	case sideAsk:
		return ours{experts: []runner.Function{ask()}}, nil
	}
	return nil, fmt.Errorf("side %q: use %s", side, strings.Join(sides, ", "))
}
