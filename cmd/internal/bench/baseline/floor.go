package baseline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Streams and subjects: floor.log.<job>.{graph,done.<node>,finished} and floor.work.<job>.<node>. The body of a completion
// is the time in nanoseconds since 1970 when the node ran.
const (
	LogStream   = "FLOOR_LOG"
	WorkStream  = "FLOOR_WORK"
	StateBucket = "FLOOR_STATE"
	// JournalStream holds floor.journal.<job>.<node>, which a claiming worker appends before a node runs.
	JournalStream = "FLOOR_JOURNAL"
	ahead         = 4096                 // The most messages read ahead, and the most unacknowledged work.
	grouping      = 5 * time.Millisecond // How long changes wait to be saved together.
)

// Graph lists the predecessors of each node by index.
type Graph [][]int

// Init creates the streams, the consumers and the bucket.
func Init(ctx context.Context, js jetstream.JetStream) error {
	_, e1 := js.CreateStream(ctx, jetstream.StreamConfig{Name: LogStream, Subjects: []string{"floor.log.>"}})
	_, e2 := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: WorkStream, Subjects: []string{"floor.work.>"}, Retention: jetstream.WorkQueuePolicy,
	})
	_, e3 := js.CreateConsumer(ctx, LogStream, jetstream.ConsumerConfig{
		Durable: "scheduler", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1 << 16,
		FilterSubjects: []string{"floor.log.*.graph", "floor.log.*.done.*"},
	})
	_, e4 := js.CreateConsumer(ctx, WorkStream, jetstream.ConsumerConfig{
		Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: ahead,
	})
	_, e5 := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: StateBucket})
	_, e6 := js.CreateStream(ctx, jetstream.StreamConfig{Name: JournalStream, Subjects: []string{"floor.journal.>"}})
	return errors.Join(e1, e2, e3, e4, e5, e6)
}

// job is the fold of one job's events. The bucket holds done, which is 1 for each finished node.
type job struct {
	done    []byte
	next    [][]int // The dependants of each node.
	waiting []int   // The unfinished predecessors of each node.
	left    int     // The number of unfinished nodes.
}

// scheduler folds the log. mu guards the fields below it, which the consumer's goroutine and the saver share.
type scheduler struct {
	ctx   context.Context
	js    jetstream.JetStream
	kv    jetstream.KeyValue
	log   jetstream.Stream
	mu    sync.Mutex
	jobs  map[string]*job
	dirty map[string]bool
	sent  []jetstream.PubAckFuture
	taken []jetstream.Msg // Folded events, acknowledged once everything that follows from them is stored.
	err   error
}

// Schedule publishes nodes that become ready as completions arrive, and saves the states in groups, until ctx ends.
func Schedule(ctx context.Context, js jetstream.JetStream) error {
	kv, e1 := js.KeyValue(ctx, StateBucket)
	log, e2 := js.Stream(ctx, LogStream)
	cons, e3 := js.Consumer(ctx, LogStream, "scheduler")
	if err := errors.Join(e1, e2, e3); err != nil {
		return fmt.Errorf("open the floor: %w", err)
	}
	s := &scheduler{ctx: ctx, js: js, kv: kv, log: log, jobs: map[string]*job{}, dirty: map[string]bool{}}
	sub, err := cons.Consume(s.take, jetstream.PullMaxMessages(ahead))
	if err != nil {
		return fmt.Errorf("consume %s: %w", LogStream, err)
	}
	defer sub.Stop()
	tick := time.NewTicker(grouping)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		if err := s.save(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// take folds one event and publishes what it makes ready. A repeated event publishes unfinished work again.
func (s *scheduler) take(m jetstream.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := strings.Split(m.Subject(), ".")
	name, graph := t[2], t[3] == "graph"
	meta, err := m.Metadata()
	again := err == nil && meta.NumDelivered > 1
	j := s.jobs[name]
	if j == nil && graph && !again {
		j, err = build(m.Data(), nil)
	} else if j == nil {
		j, err = s.reload(name)
	}
	if s.jobs[name], s.err = j, errors.Join(s.err, err); err != nil {
		return
	}
	if graph {
		for n := range j.done {
			s.run(name, j, n)
		}
	} else if node, _ := strconv.Atoi(t[4]); j.complete(node) || again {
		for _, n := range j.next[node] {
			s.run(name, j, n)
		}
	}
	if j.left == 0 {
		s.publish("floor.log."+name+".finished", nil)
	}
	s.taken, s.dirty[name] = append(s.taken, m), true
}

// reload reads what an earlier scheduler saved about a job.
func (s *scheduler) reload(name string) (*job, error) {
	m, err := s.log.GetLastMsgForSubject(s.ctx, "floor.log."+name+".graph")
	if err != nil {
		return nil, fmt.Errorf("load graph of %s: %w", name, err)
	}
	switch entry, err := s.kv.Get(s.ctx, name); {
	case err == nil:
		return build(m.Data, entry.Value())
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return build(m.Data, nil)
	default:
		return nil, fmt.Errorf("load state of %s: %w", name, err)
	}
}

func build(body, done []byte) (*job, error) {
	var g Graph
	if err := json.Unmarshal(body, &g); err != nil {
		return nil, fmt.Errorf("decode graph: %w", err)
	}
	j := &job{done: make([]byte, len(g)), next: make([][]int, len(g)), waiting: make([]int, len(g)), left: len(g)}
	for n, before := range g {
		j.waiting[n] = len(before)
		for _, p := range before {
			j.next[p] = append(j.next[p], n)
		}
	}
	for n := range done {
		if done[n] == 1 {
			j.complete(n)
		}
	}
	return j, nil
}

// complete marks a node as done. It returns false if the node was done already.
func (j *job) complete(node int) bool {
	if j.done[node] == 1 {
		return false
	}
	j.done[node], j.left = 1, j.left-1
	for _, n := range j.next[node] {
		j.waiting[n]--
	}
	return true
}

func (s *scheduler) run(name string, j *job, node int) {
	if j.waiting[node] == 0 && j.done[node] == 0 {
		s.publish("floor.work."+name+"."+strconv.Itoa(node), nil)
	}
}

func (s *scheduler) publish(subject string, body []byte) {
	ack, err := s.js.PublishAsync(subject, body)
	s.err = errors.Join(s.err, err)
	s.sent = append(s.sent, ack)
}

// save stores the changed states, and acknowledges their events once everything that follows from them is stored.
func (s *scheduler) save() error {
	s.mu.Lock()
	for name := range s.dirty {
		s.publish("$KV."+StateBucket+"."+name, append([]byte(nil), s.jobs[name].done...))
	}
	clear(s.dirty)
	sent, taken, err := s.sent, s.taken, s.err
	s.sent, s.taken = nil, nil
	s.mu.Unlock()
	if err == nil {
		err = settle(s.ctx, sent...)
	}
	for i := 0; err == nil && i < len(taken); i++ {
		err = taken[i].Ack()
	}
	return err
}

// settle waits until the server has stored every publish.
func settle(ctx context.Context, acks ...jetstream.PubAckFuture) error {
	for _, a := range acks {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			return fmt.Errorf("publish %s: %w", a.Msg().Subject, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
