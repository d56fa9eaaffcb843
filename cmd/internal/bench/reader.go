package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

const (
	readAhead   = 4096                   // How many messages a reader fetches ahead.
	slowest     = time.Minute            // How long a busy server may take to answer.
	settlePoll  = 5 * time.Millisecond   // The interval of checks whether consumers are done.
	settleBound = 10 * time.Second       // How long the checks may take.
	pullExpiry  = 5 * time.Second        // The expiry of a reader's pull requests.
	pullBeat    = 500 * time.Millisecond // The interval of the server's heartbeats meanwhile.
)

// reader reads streams for the drivers of both sides in the same way.
type reader struct {
	nc *nats.Conn
	js jetstream.JetStream
	// also closes the driver's other resources; may be nil.
	also func()
}

// newReader connects a reader to the server under a name.
func newReader(at address, name string) (*reader, error) {
	nc, err := at.dial(name)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(slowest))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return &reader{nc: nc, js: js}, nil
}

func (r *reader) close() {
	if r.also != nil {
		r.also()
	}
	r.nc.Close()
}

// ends receives the ends of jobs as they are published. It subscribes to the subject instead of the stream, so that the
// server has no additional consumer.
type ends struct {
	subs []*nats.Subscription
	said chan *nats.Msg
}

// listen subscribes to some subjects; at most room messages may wait unread.
func (r *reader) listen(room int, subjects ...string) (*ends, error) {
	e := &ends{said: make(chan *nats.Msg, room)}
	for _, subject := range subjects {
		sub, err := r.nc.ChanSubscribe(subject, e.said)
		if err != nil {
			e.stop()
			return nil, fmt.Errorf("listen to %s: %w", subject, err)
		}
		e.subs = append(e.subs, sub)
	}
	if err := r.nc.Flush(); err != nil { // Everything published from now on is received.
		e.stop()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return e, nil
}

// next returns the subject and the body of the next message.
func (e *ends) next(ctx context.Context) (subject string, body []byte, err error) {
	select {
	case m := <-e.said:
		return m.Subject, m.Data, nil
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
}

// all waits until each job of a run has ended; read returns the job whose end a message reports. Its error names a job
// that does not end.
func (e *ends) all(ctx context.Context, word string, graphs []baseline.Graph, read func(subject string, body []byte) (job string, err error)) error {
	ctx, cancel := patience(ctx, nodes(graphs))
	defer cancel()
	ended := map[string]bool{}
	for i := range graphs {
		for job := word + "-" + strconv.Itoa(i); !ended[job]; {
			subject, body, err := e.next(ctx)
			if err != nil {
				return fmt.Errorf("wait for the end of %s: %w", job, err)
			}
			name, err := read(subject, body)
			if err != nil {
				return err
			}
			ended[name] = true
		}
	}
	return nil
}

func (e *ends) stop() {
	for _, sub := range e.subs {
		_ = sub.Unsubscribe() // A closed connection has no subscriptions.
	}
}

// follow reads the messages of some subjects in order, from the first.
func (r *reader) follow(ctx context.Context, stream string, filters ...string) (jetstream.MessagesContext, error) {
	cons, err := r.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: filters})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullBeat))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	return it, nil
}

// place is a node of a run; graph is −1 for a node of another run.
type place struct{ graph, node int }

// placeOf parses the names that the drivers use: job <word>-<graph>, node <node>.
func placeOf(word, job, node string) place {
	rest, ours := strings.CutPrefix(job, word+"-")
	graph, err1 := strconv.Atoi(rest)
	n, err2 := strconv.Atoi(strings.TrimPrefix(node, "n"))
	if !ours || err1 != nil || err2 != nil {
		return place{-1, -1}
	}
	return place{graph, n}
}

// collect reads one time for each node of the graphs; if there are several, the first.
func (r *reader) collect(
	ctx context.Context, stream, filter string, graphs []baseline.Graph, read func(jetstream.Msg) (place, int64, error),
) ([][]int64, error) {
	out := make([][]int64, len(graphs))
	for k, g := range graphs {
		out[k] = make([]int64, len(g))
	}
	it, err := r.follow(ctx, stream, filter)
	if err != nil {
		return nil, err
	}
	defer it.Stop()
	ctx, cancel := patience(ctx, nodes(graphs))
	defer cancel()
	for left := nodes(graphs); left > 0; {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, fmt.Errorf("read %s: %w", stream, err)
		}
		at, when, err := read(m)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", m.Subject(), err)
		}
		if at.graph < 0 || at.graph >= len(out) || at.node >= len(out[at.graph]) {
			continue
		}
		if slot := &out[at.graph][at.node]; *slot == 0 {
			*slot = when
			left--
		}
	}
	return out, nil
}

// matching counts the messages of a stream whose subject matches.
func (r *reader) matching(ctx context.Context, stream, filter string) (uint64, error) {
	s, err := r.js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("read stream %s: %w", stream, err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return 0, fmt.Errorf("read stream %s: %w", stream, err)
	}
	count := uint64(0)
	for _, n := range info.State.Subjects {
		count += n
	}
	return count, nil
}

// written counts all messages ever stored in all streams; awaited is the given number plus the messages of the named
// streams.
func (r *reader) written(ctx context.Context, awaited uint64, streams ...string) (writes, error) {
	w := writes{awaited: awaited}
	list := r.js.ListStreams(ctx)
	for info := range list.Info() {
		w.total += info.State.LastSeq
		for _, name := range streams {
			if info.Config.Name == name {
				w.awaited += info.State.LastSeq
			}
		}
	}
	if err := list.Err(); err != nil {
		return writes{}, fmt.Errorf("list streams: %w", err)
	}
	return w, nil
}

// settled waits until no durable consumer has anything left to deliver or to be acknowledged.
func (r *reader) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for {
		busy, err := r.busy(ctx)
		if err != nil || !busy {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("messages are left unacknowledged after the end of all jobs")
		}
	}
}

// busy reports whether any durable consumer has messages left. It reads every list to its end, since the lister would
// block if its reader stopped early.
func (r *reader) busy(ctx context.Context) (busy bool, err error) {
	streams := r.js.ListStreams(ctx)
	for stream := range streams.Info() {
		if busy || err != nil || stream.State.Consumers == 0 {
			continue
		}
		busy, err = r.pending(ctx, stream.Config.Name)
	}
	return busy, errors.Join(err, streams.Err())
}

// pending reports whether a durable consumer of a stream has anything left.
func (r *reader) pending(ctx context.Context, stream string) (left bool, err error) {
	s, err := r.js.Stream(ctx, stream)
	if err != nil {
		return false, fmt.Errorf("read stream %s: %w", stream, err)
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		left = left || c.Config.Durable != "" && (c.NumPending > 0 || c.NumAckPending > 0)
	}
	if err := list.Err(); err != nil {
		return false, fmt.Errorf("list consumers of %s: %w", stream, err)
	}
	return left, nil
}
