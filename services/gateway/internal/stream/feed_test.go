package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// book is a log in memory.
type book struct {
	mu   sync.Mutex // Guards seqs and news.
	seqs []uint64
	news chan struct{} // Closed at the next event.
	// behind is how many of the latest events a read of the past lacks.
	behind int
	reads  int
}

func newBook() *book { return &book{news: make(chan struct{})} }

func (b *book) add(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seqs = append(b.seqs, seq)
	close(b.news)
	b.news = make(chan struct{})
}

var errNone = errors.New("no such job")

func (b *book) Head(context.Context, string) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seqs) == 0 {
		return 0, errNone
	}
	return b.seqs[len(b.seqs)-1], nil
}

func (b *book) Events(_ context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	b.mu.Lock()
	list := slices.Clone(b.seqs[:max(0, len(b.seqs)-b.behind)])
	b.reads++
	b.behind = 0
	b.mu.Unlock()
	return func(yield func(events.Event, error) bool) {
		for _, seq := range list {
			if seq > after && !yield(events.Event{Job: job, Seq: seq, Kind: "k"}, nil) {
				return
			}
		}
	}
}

func (b *book) Watch(ctx context.Context, job string, from uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for {
			b.mu.Lock()
			list, news := slices.Clone(b.seqs), b.news
			b.mu.Unlock()
			for _, seq := range list {
				if seq >= from {
					if from = seq + 1; !yield(events.Event{Job: job, Seq: seq, Kind: "k"}, nil) {
						return
					}
				}
			}
			select {
			case <-news:
			case <-ctx.Done():
				yield(events.Event{}, ctx.Err())
				return
			}
		}
	}
}

// read collects the events of a stream up to the last sequence.
func read(t *testing.T, r *stream.Reader, after, last uint64, pause func(n int)) []uint64 {
	t.Helper()
	done := errors.New("done")
	var got []uint64
	err := r.Send(t.Context(), after, time.Second, func(f stream.Frame) error {
		got = append(got, f.Seq)
		pause(len(got))
		if f.Seq == last {
			return done
		}
		return nil
	}, func(bool) error { return nil })
	if !errors.Is(err, done) {
		t.Errorf("the stream ended with %v", err)
	}
	return got
}

// A stream gets every event once and in order, whenever it begins and however slow it is.
func TestEveryStreamGetsEveryEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.add(3)
		feeds := stream.NewFeeds(b)
		const last = 3 + 7*500
		var want []uint64
		for seq := uint64(3); seq <= last; seq += 7 {
			want = append(want, seq)
		}
		var all sync.WaitGroup
		for i := range 40 {
			chance := rand.New(rand.NewPCG(1, uint64(i)))
			begin := chance.IntN(len(want) - 1)
			all.Go(func() {
				<-time.After(time.Duration(chance.IntN(500)) * time.Millisecond)
				r, err := feeds.Open(t.Context(), "j")
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				got := read(t, r, want[begin], last, func(int) {
					if i%2 == 0 {
						<-time.After(time.Duration(chance.IntN(8)) * time.Millisecond)
					}
				})
				if !slices.Equal(got, want[begin+1:]) {
					t.Errorf("stream %d after %d got %v", i, want[begin], got)
				}
			})
		}
		for _, seq := range want[1:] {
			<-time.After(time.Millisecond)
			b.add(seq)
		}
		all.Wait()
	})
}

// A reader that falls behind reads the log again; the feed stores nothing for it.
func TestASlowStreamReadsTheLogAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.add(1)
		r := musttest.Get(stream.NewFeeds(b).Open(t.Context(), "j"))(t)
		defer r.Close()
		got := read(t, r, 0, 1000, func(n int) {
			if n == 1 {
				for seq := uint64(2); seq <= 1000; seq++ {
					b.add(seq)
				}
				synctest.Wait()
			}
		})
		if len(got) != 1000 || !slices.IsSorted(got) {
			t.Errorf("got %d events", len(got))
		}
		if b.reads < 2 {
			t.Errorf("the log was read %d times", b.reads)
		}
	})
}

// Reading the past from a server that lags behind loses nothing.
func TestALogThatIsBehindIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.add(1)
		feeds := stream.NewFeeds(b)
		first := musttest.Get(feeds.Open(t.Context(), "j"))(t)
		defer first.Close()
		for seq := uint64(2); seq <= 5; seq++ {
			b.add(seq)
		}
		synctest.Wait()
		b.behind = 3
		r := musttest.Get(feeds.Open(t.Context(), "j"))(t)
		defer r.Close()
		got := read(t, r, 0, 6, func(n int) {
			if n == 2 {
				b.behind = 2
				b.add(6)
			}
		})
		if want := []uint64{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestAFeedOfNoJobIsRefusedAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		feeds := stream.NewFeeds(b)
		if _, err := feeds.Open(t.Context(), "j"); !errors.Is(err, errNone) {
			t.Errorf("opened: %v", err)
		}
		b.add(1)
		r := musttest.Get(feeds.Open(t.Context(), "j"))(t)
		defer r.Close()
		if got := fmt.Sprint(read(t, r, 0, 1, func(int) {})); got != "[1]" {
			t.Errorf("got %s", got)
		}
	})
}
