//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/host/trace/tracetest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A job submitted with a traceparent is one trace over all services: intake under the caller, the scheduler's steps under
// intake, planning and runs under the steps that issued them.
//
// proves D18
func TestOneJobIsOneTraceOverAllServices(t *testing.T) {
	t.Parallel() // It mostly waits.
	c := tracetest.New(t)
	s := bare(t, "")
	s.card("worker", "", "work")
	s.more = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}
	s.add(scheduler)
	s.add(planner)
	s.add(runner)
	s.ready()
	const trace, asker = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	s.ask("traced", "00-"+trace+"-"+asker+"-01")
	s.finish("traced")
	for _, p := range s.services {
		p.drain()
	}
	spans := c.Spans()
	byID, named := map[string]tracetest.Span{}, map[string][]tracetest.Span{}
	for _, span := range spans {
		byID[span.ID] = span
		named[span.Name] = append(named[span.Name], span)
		if span.Trace != trace || span.Attributes["jobgraph.job"] != "traced" || span.Failure != "" {
			t.Errorf("span of another trace or job, or one that failed: %+v", span)
		}
	}
	if n := len(named["intake"]); n != 1 || named["intake"][0].Parent != asker {
		t.Fatalf("%d spans of intake: %+v", n, named["intake"])
	}
	parents := map[string]string{"step": "intake", "plan": "step", "run": "step"}
	services := map[string]string{"intake": "jobgraph-scheduler", "step": "jobgraph-scheduler", "plan": "jobgraph-planner", "run": "jobgraph-expert-runner"}
	for name, list := range named {
		for _, span := range list {
			if parent := byID[span.Parent]; name != "intake" && parent.Name != parents[name] {
				t.Errorf("%s under %q, want %q", name, parent.Name, parents[name])
			}
			if span.Service != services[name] {
				t.Errorf("%s of %s", name, span.Service)
			}
		}
	}
	if len(named["plan"]) != 1 || named["plan"][0].Attributes["jobgraph.outcome"] != "graph.created" {
		t.Errorf("planning: %+v", named["plan"])
	}
	runs := map[string]bool{}
	for _, span := range named["run"] {
		if span.Attributes["jobgraph.expert"] != "worker" || span.Attributes["jobgraph.outcome"] != "SUCCESS" || span.Attributes["jobgraph.run"] != "1" {
			t.Errorf("run: %+v", span)
		}
		runs[span.Attributes["jobgraph.subjob"]] = true
	}
	if len(runs) != 4 || len(named["run"]) != 4 {
		t.Errorf("runs of %v, want one of each of the diamond", runs)
	}
}

// ask submits a diamond by request and reply, with a traceparent.
func (s *stack) ask(job, traceparent string) {
	s.t.Helper()
	nc := musttest.Get(nats.Connect(s.url))(s.t)
	defer nc.Close()
	body := musttest.Get(json.Marshal(request(job, diamond())))(s.t)
	m := &nats.Msg{Subject: s.bus.Names().API("submit"), Data: body, Header: nats.Header{"traceparent": {traceparent}}}
	answer, err := nc.RequestMsg(m, patience)
	if err != nil || answer.Header.Get("Nats-Service-Error") != "" {
		s.t.Fatalf("%v: %s", err, answer.Data)
	}
}
