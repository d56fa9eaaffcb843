//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// nodes are the three servers of a cluster and the connections between them.
type nodes struct {
	list []*process
	// ways[i][j] is the connection from node i to node j.
	ways [3][3]*route
}

// clustered starts a cluster of three and everything that whole starts, with three replicas of each stream.
func clustered(t *testing.T) (*stack, *nodes) {
	t.Helper()
	s, _ := empty(t)
	n := &nodes{}
	var clients, peers [3]string
	for i := range 3 {
		clients[i], peers[i] = "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	}
	for i := range 3 {
		for j := range 3 {
			if i != j {
				n.ways[i][j] = newRoute(t, peers[j])
			}
		}
	}
	s.url = "nats://" + strings.Join(clients[:], ",nats://")
	n.configure(s)
	t.Cleanup(func() { // Runs after the end of the stack.
		for _, p := range n.list {
			p.wake()
			p.kill()
			p.tell()
		}
	})
	for i := range 3 {
		n.list = append(n.list, n.node(s, i, clients[i], peers[i]))
	}
	s.server = n.list[0]
	t.Cleanup(s.end)
	for _, p := range n.list {
		p.start()
	}
	// The leader refuses three replicas until it has heard from both others.
	until(t, "the cluster has its streams", patience, func() bool { return s.cli("init", "--replicas", "3", "--timeout", "60s").code == 0 })
	s.connect()
	s.card("worker", "", "work")
	// The lease is the default one.
	s.add(scheduler, "--lease", "10s")
	s.add(planner)
	s.add(runner)
	s.ready()
	return s, n
}

// configure uses the shipped configuration. Nodes advertise an unreachable address, so that they can only use the test's
// connections.
func (n *nodes) configure(s *stack) {
	s.t.Helper()
	shipped := musttest.Get(os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats-cluster.conf")))(s.t)
	const line = "# advertise: host:port"
	if !strings.Contains(string(shipped), line) {
		s.t.Fatalf("no line %q in the configuration", line)
	}
	s.write("nats.conf", strings.Replace(string(shipped), line, `advertise: "127.0.0.1:1"`, 1))
}

func (n *nodes) node(s *stack, i int, client, peer string) *process {
	name := fmt.Sprintf("node-%d", i)
	var routes []string
	for j := range 3 {
		if i != j {
			routes = append(routes, "nats://"+n.ways[i][j].addr())
		}
	}
	return &process{
		t: s.t, name: name, program: natsServer, args: []string{"-c", filepath.Join(s.dir, "nats.conf")}, log: filepath.Join(s.dir, name+".log"),
		env: []string{
			"NATS_NODE=" + name, "NATS_LISTEN=" + client, "NATS_CLUSTER_LISTEN=" + peer,
			"NATS_STORE=" + filepath.Join(s.dir, "store", name), "NATS_ROUTES=[" + strings.Join(routes, ", ") + "]",
		},
	}
}

// cut disconnects a node from the others, heal reconnects it.
func (n *nodes) cut(node int)  { n.each(node, (*route).cut) }
func (n *nodes) heal(node int) { n.each(node, (*route).heal) }

func (n *nodes) each(node int, do func(*route)) {
	for i := range 3 {
		if i != node {
			do(n.ways[node][i])
			do(n.ways[i][node])
		}
	}
}

// leader returns the node that leads the log.
func (s *stack) leader(n *nodes) int {
	s.t.Helper()
	leader := -1
	until(s.t, "the log has a leader and three copies that are current", patience, func() bool {
		info, err := s.look()
		if err != nil || info.Cluster == nil || len(info.Cluster.Replicas) != 2 {
			return false
		}
		leader = slices.IndexFunc(n.list, func(p *process) bool { return p.name == info.Cluster.Leader })
		return leader >= 0 && !slices.ContainsFunc(info.Cluster.Replicas, func(r *jetstream.PeerInfo) bool { return !r.Current || r.Offline })
	})
	return leader
}

// look reads the state of the log's stream.
func (s *stack) look() (*jetstream.StreamInfo, error) {
	nc, err := nats.Connect(s.url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.context()
	defer cancel()
	log, err := js.Stream(ctx, s.bus.Names().Log)
	if err != nil {
		return nil, err
	}
	return log.CachedInfo(), nil
}
