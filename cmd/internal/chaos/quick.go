package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

const (
	// quick is the expert for many small SubJobs: one call, answered at once, that may be repeated.
	quick = "quick"
	// foreign is the expert of a third-party worker, in a pool of the same name.
	foreign = "foreign"
	// streams is how many jobs of quick SubJobs run at once, quickWidth how many SubJobs each has besides the first and
	// last.
	streams, quickWidth = 2, 40
)

// quickServer answers the calls of the quick expert and leaves the same marks as the programs of other experts.
type quickServer struct {
	listener net.Listener
	server   *http.Server
	done     sync.WaitGroup

	mu    sync.Mutex // Guards marks.
	marks *os.File
}

func startQuick(marks string) (*quickServer, error) {
	file, err := os.OpenFile(marks, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	q := &quickServer{listener: listener, marks: file}
	q.server = &http.Server{Handler: http.HandlerFunc(q.answer), ReadHeaderTimeout: time.Minute}
	q.done.Go(func() { _ = q.server.Serve(listener) }) // Ends with close, which waits for it.
	return q, nil
}

// answer records the call, by its key <job>@<seq>/<subjob>/<run>, and answers with success.
func (q *quickServer) answer(w http.ResponseWriter, r *http.Request) {
	key := strings.Split(r.Header.Get("Idempotency-Key"), "/")
	if len(key) != 3 {
		http.Error(w, "no key", http.StatusBadRequest)
		return
	}
	job, _, _ := strings.Cut(key[0], "@")
	now := time.Now().UnixNano()
	var text bytes.Buffer
	for _, what := range []string{"begin", "end"} {
		fmt.Fprintf(&text, "%s %s %s %s 0 %d\n", what, job, key[1], key[2], now)
	}
	q.mu.Lock()
	_, err := q.marks.Write(text.Bytes())
	q.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`"done"`)) // The runner may be gone.
}

func (q *quickServer) close() error {
	err := q.server.Close()
	q.done.Wait()
	return errors.Join(err, q.marks.Close())
}

// quickPlan returns a fan of quick SubJobs, with one of the third-party worker among them.
func quickPlan(worker bool) []events.SubJob {
	steps := []events.SubJob{{ID: "first", Goal: "go", Expert: quick}}
	last := events.SubJob{ID: "last", Goal: "go", Expert: quick}
	for i := range quickWidth {
		s := events.SubJob{ID: fmt.Sprintf("s%d", i), Goal: "go", Expert: quick, Dependencies: []string{"first"}}
		if worker && i == 0 {
			s.Expert = foreign
		}
		steps = append(steps, s)
		last.Dependencies = append(last.Dependencies, s.ID)
	}
	return append(steps, last)
}

// stream runs quick jobs one after another until it is closed, at the latest until ctx ends.
func (l *load) stream(ctx context.Context, name string) {
	plan, err := json.Marshal(events.Plan{SubJobs: quickPlan(l.worker)})
	if err != nil {
		panic(err) // A plan that this package made can always be encoded.
	}
	for n := 1; ctx.Err() == nil && !l.over(); n++ {
		id := fmt.Sprintf("%s%05d", name, n)
		l.hand(ctx, events.Request{ID: id, Goal: "campaign", Plan: plan}, false)
		for ctx.Err() == nil {
			if _, err := l.client.Wait(ctx, id); err == nil {
				l.ends(id)
				break
			}
			l.pause(ctx)
		}
	}
}

// hear counts the batches of work for the quick expert.
func (l *load) hear() (stop func(), err error) {
	b := l.client.Bus()
	return b.SubscribeCore(b.Names().PoolWork(batch.Pool(quick)), func(string, []byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.batches++
	})
}

func (l *load) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *load) pause(ctx context.Context) {
	timer := time.NewTimer(look)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
