package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

const (
	// agentAnswers is how long the model takes to give the one answer that each agent needs.
	agentAnswers = 200 * time.Millisecond
	// agentRounds is how often all agents run.
	agentRounds = 3
	// agentsQuiet is how long the process rests before its memory is measured.
	agentsQuiet = 30 * time.Second
	// agentsCounted is the smallest number of agents for which memory is measured.
	agentsCounted = 100
	// mostAgentsGrow limits the memory of that process, as a multiple of a fresh process's memory.
	mostAgentsGrow = 1.5
)

// agentLimits are the seconds that 1,000 agents may take, for two values of the runner's --concurrency: the default, and one slot
// per agent.
var agentLimits = []struct {
	concurrency int
	name        string
	seconds     float64
}{{0, "by default", 1.8}, {1000, "with --concurrency 1000", 1.2}}

// agents runs one job of independent agents whose model is served over HTTP with a delay. It measures how long they take
// together, and the memory that the process still holds afterwards.
func (p probe) agents(ctx context.Context, self []string) (list []Measure, err error) {
	dir, err := os.MkdirTemp("", "jobgraph-bench-")
	if err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	model, url, err := serveModel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	card := filepath.Join(dir, "agent.md")
	text := "---\nid: " + expertID + "\nname: " + expertID + "\nkind: llm\n---\nYou answer.\n"
	if err := os.WriteFile(card, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	for _, limit := range agentLimits {
		k := kit{Cards: []string{card}, Model: url + "/v1", Concurrency: limit.concurrency}
		measures, err := p.agentsWith(ctx, self, k, limit.name, limit.seconds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", limit.name, err)
		}
		list = append(list, measures...)
	}
	return list, nil
}

// serveModel serves a model that answers after a delay, until it is closed.
func serveModel() (*http.Server, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("serve a model: %w", err)
	}
	model := llmtest.NewUnrecorded(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "done", Delay: agentAnswers}, nil
	}))
	server := &http.Server{Handler: model, ReadHeaderTimeout: slowest}
	go func() { _ = server.Serve(listener) }() // Ends with Close.
	return server, "http://" + listener.Addr().String(), nil
}

func (p probe) agentsWith(ctx context.Context, self []string, k kit, name string, most float64) (list []Measure, err error) {
	graphs := []baseline.Graph{make(baseline.Graph, p.Size)}
	if p.Under.Mode != ModeEmbedded {
		return nil, errors.New("workload agents holds model, runner and server in one process: use --mode embedded")
	}
	err = p.on(ctx, scene{side: sideHang, kit: k, self: self}, func(ctx context.Context, s *stage, d *oursDriver) error {
		if err := d.run(ctx, "warm", []baseline.Graph{{nil}}); err != nil {
			return err
		}
		fresh, err := s.usage()
		if err != nil {
			return err
		}
		go host.GiveBack(ctx) // All our processes do this. Ends with ctx.
		for round := range agentRounds {
			begin := time.Now()
			if err := d.run(ctx, word(round), graphs); err != nil {
				return err
			}
			list = append(list, limited(fmt.Sprintf("%d agents at %s, %s, round %d", p.Size, agentAnswers, name, round+1), "s", time.Since(begin).Seconds(), most))
		}
		if p.Size < agentsCounted {
			return nil
		}
		quiet := time.NewTimer(agentsQuiet)
		defer quiet.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-quiet.C:
		}
		after, err := s.usage()
		list = append(list, limited(fmt.Sprintf("memory %s after that, of a fresh process, %s", agentsQuiet, name), "times", float64(after.Resident)/float64(fresh.Resident), mostAgentsGrow))
		return err
	})
	return list, err
}
