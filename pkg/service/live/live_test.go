package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// recorder is a bus that records each message with the time since the start.
type recorder struct {
	begun time.Time

	mu       sync.Mutex // Guards the fields below.
	away     bool
	absent   bool
	lost     bool
	slow     bool
	lines    []string
	items    []item.Item
	pools    []string // Of the messages.
	asked    int
	messages int
}

func (p *recorder) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return bus.ErrUnavailable
	}
	return nil
}

func (p *recorder) Send(job, subjob, pool string, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages++
	p.pools = append(p.pools, pool)
	list, unreadable := item.Decode(body)
	if unreadable > 0 {
		panic(string(body))
	}
	for _, i := range list {
		line := fmt.Sprintf("%s %s/%s %s %d %q", time.Since(p.begun), job, subjob, i.ID, i.Offset, i.Text)
		if i.Done {
			line += " done"
		}
		p.lines = append(p.lines, line)
	}
	p.items = append(p.items, list...)
	return nil
}

func (p *recorder) Confirm(job, subjob, pool string, body []byte) (Pending, error) {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	return answer{p}, p.Send(job, subjob, pool, body)
}

type answer struct{ p *recorder }

func (a answer) Wait(ctx context.Context) (uint64, error) {
	a.p.mu.Lock()
	slow := a.p.slow
	a.p.mu.Unlock()
	if slow {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	switch {
	case a.p.absent:
		return 0, bus.ErrUnavailable
	case a.p.lost:
		return 0, bus.ErrUnknown
	}
	return 1, nil
}

func (p *recorder) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// writing runs a test with a writer in virtual time and compares what was sent with want.
func writing(t *testing.T, f func(t *testing.T, p *recorder, w *Writer), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &recorder{begun: time.Now()}
		w := New(p, redact.NewSet("s3cret-0123456789"))
		f(t, p, w)
		w.Close(t.Context())
		if diff := cmp.Diff(want, p.lines); want != nil && diff != "" {
			t.Error(diff)
		}
	})
}

// text is a piece of an item.
func text(id string, offset int, text string) item.Item {
	return item.Item{Type: item.Text, ID: id, Offset: offset, Text: text}
}

// proves V27
// proves V-T16
func TestTheFirstPieceOfAnItemIsSentAtOnceAndTheRestIsGathered(t *testing.T) {
	writing(t, func(_ *testing.T, _ *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		for n := range 13 {
			r.Show(text("answer/1", n, "."))
			<-time.After(11 * time.Millisecond)
		}
		r.Show(text("answer/2", 0, "next"))
		synctest.Wait()
		<-time.After(time.Second)
	},
		`0s j/a answer/1 0 "."`,
		`61ms j/a answer/1 1 "....."`,
		`116ms j/a answer/1 6 "....."`,
		`143ms j/a answer/1 11 ".."`,
		`143ms j/a answer/2 0 "next"`,
	)
}

func TestARunIsSentUnderItsPool(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		for n, pool := range []string{"gpu", ""} {
			r := w.Open("j", "a", n+1, "x").In(pool)
			r.Show(item.Item{Type: item.Progress, ID: "consulted", Pool: "far", Text: "asked", Done: true})
			synctest.Wait()
			if len(p.items) != n+1 || p.pools[n] != pool || p.items[n].Pool != "far" {
				t.Errorf("%+v on subjects of %q", p.items, p.pools)
			}
		}
	})
}

func TestSeveralRunsAreSentTogetherButEachUnderItsOwnSubJob(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		a, b := w.Open("j", "a", 1, "x"), w.Open("k", "b", 1, "x")
		a.Show(text("answer", 0, "a"))
		b.Show(text("answer", 0, "b"))
		synctest.Wait()
		a.Show(text("answer", 1, "aa"))
		<-time.After(3 * time.Millisecond)
		b.Show(text("answer", 1, "bb"))
		<-time.After(time.Second)
		synctest.Wait() // The writer is at rest.
		if p.asked >= p.messages {
			t.Errorf("%d of %d messages were to be acknowledged", p.asked, p.messages)
		}
	},
		`0s j/a answer 0 "a"`, `0s k/b answer 0 "b"`, `50ms j/a answer 1 "aa"`, `50ms k/b answer 1 "bb"`,
	)
}

func TestAnItemBeginsAgainWithOffsetZero(t *testing.T) {
	writing(t, func(_ *testing.T, _ *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		r.Show(text("answer", 0, "one"))
		synctest.Wait()
		r.Show(text("answer", 3, " two"))
		r.Show(text("answer", 0, "again"))
		r.Show(text("answer", 5, "!"))
		<-time.After(time.Second)
	}, `0s j/a answer 0 "one"`, `0s j/a answer 0 "again!"`)
}

func TestTheEndOfARunEndsItsItemsAndAnAbandonedRunLeavesThemOpen(t *testing.T) {
	for _, done := range []bool{true, false} {
		want := []string{`0s j/a thought 0 "hm"`, `0s j/a answer 0 "so"`, `0s j/a answer 2 "me"`}
		if done {
			want = []string{`0s j/a thought 0 "hm"`, `0s j/a answer 0 "so"`, `0s j/a answer 2 "me" done`, `0s j/a thought 0 "" done`}
		}
		writing(t, func(_ *testing.T, _ *recorder, w *Writer) {
			r := w.Open("j", "a", 1, "x")
			r.Show(text("thought", 0, "hm"))
			r.Show(text("answer", 0, "so"))
			synctest.Wait()
			r.Show(text("answer", 2, "me"))
			r.End(done)
			r.Show(text("answer", 4, "late"))
		}, want...)
	}
}

// proves C-weakness-9-live
func TestWhatComesWhileTheBusIsAwayIsKeptWithinBoundsAndAMarkerSaysWhatIsMissing(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		r.Show(text("answer", 0, "a"))
		synctest.Wait()
		p.set(func() { p.away = true })
		begun := time.Now()
		for n := range 100 {
			r.Show(text("answer", 1+n<<10, strings.Repeat("b", 1<<10)))
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the run waited for %s", took)
		}
		<-time.After(time.Minute)
		p.set(func() { p.away = false })
		<-time.After(time.Second)
		r.Show(text("answer", 1+100<<10, "!"))
		<-time.After(time.Second)
		want := []item.Item{
			{Type: item.Text, ID: "answer", Run: 1, Expert: "x", Text: "a"},
			{Type: item.Text, ID: "answer", Run: 1, Expert: "x", Offset: 1, Text: strings.Repeat("b", 64<<10)},
			{Type: item.Gap, ID: "gap/1", Run: 1, Expert: "x", Text: "36864 bytes are missing here: they came faster than the bus took them", Truncated: 36 << 10, Done: true},
			{Type: item.Text, ID: "answer", Run: 1, Expert: "x", Offset: 1 + 100<<10, Text: "!"},
		}
		synctest.Wait() // The writer is at rest.
		musttest.Equal(t, want, p.items)
		if w.total.Load() != 0 {
			t.Errorf("%d bytes are still counted", w.total.Load())
		}
	})
}

func TestAMessageThatMayBeLostIsFollowedByAMarker(t *testing.T) {
	writing(t, func(_ *testing.T, p *recorder, w *Writer) {
		p.set(func() { p.lost = true })
		r := w.Open("j", "a", 1, "x")
		r.Show(text("answer", 0, "a"))
		synctest.Wait()
		r.Show(text("answer", 1, "b"))
		<-time.After(time.Second)
		p.set(func() { p.lost = false })
		r.Show(text("answer", 2, "!"))
		<-time.After(time.Second)
	},
		`0s j/a answer 0 "a"`, `50ms j/a answer 1 "b"`, `50ms j/a gap/1 0 "something may be missing here: the connection to the bus was lost" done`,
		`1.05s j/a answer 2 "!"`,
	)
}

func TestABusWithoutTheStreamIsNotAskedForAcknowledgements(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		p.set(func() { p.absent = true })
		r := w.Open("j", "a", 1, "x")
		for n := range 100 {
			r.Show(text("answer", n, "."))
			<-time.After(100 * time.Millisecond)
		}
		synctest.Wait() // The writer is at rest.
		if p.messages != 100 || p.asked != 1 {
			t.Errorf("%d messages, %d to be acknowledged", p.messages, p.asked)
		}
	})
}

func TestABusThatDoesNotAcknowledgeHoldsItemsUpForASecondAtMost(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		p.set(func() { p.slow = true })
		r := w.Open("j", "a", 1, "x")
		for n := range 60 {
			r.Show(text("answer", n, "."))
			<-time.After(100 * time.Millisecond)
		}
		synctest.Wait() // The writer is at rest.
		if p.messages < 40 || p.asked > 3 {
			t.Errorf("%d messages, %d to be acknowledged", p.messages, p.asked)
		}
		for _, i := range p.items {
			if i.Type == item.Gap {
				t.Errorf("nothing is known to be missing: %+v", i)
			}
		}
	})
}

func TestARunThatWritesTooMuchIsCutWithAMarker(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		chunk := strings.Repeat("x", 32<<10)
		for n := range 200 {
			r.Show(text("log", n*len(chunk), chunk))
			<-time.After(60 * time.Millisecond)
		}
		r.End(true)
		synctest.Wait()
		gaps, size := 0, 0
		for _, i := range p.items {
			size += len(i.Text)
			if i.Type == item.Gap {
				gaps++
			}
		}
		last := p.items[len(p.items)-1]
		if gaps != 1 || size > maxText+1000 || !last.Done || last.Truncated != 200*len(chunk)-maxText {
			t.Errorf("%d markers, %d bytes, the last item %+v", gaps, size, last)
		}
	})
}

func TestAFloodOfItemsDoesNotBecomeAFloodOfMessages(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		for n := range 1000 {
			r.Show(item.Item{Type: item.Progress, ID: fmt.Sprint("progress/", n), Text: "step", Done: true})
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Second)
		synctest.Wait() // The writer is at rest.
		if len(p.items) != 1000 || p.messages > 45 {
			t.Errorf("%d items in %d messages", len(p.items), p.messages)
		}
	})
}

func TestNoSecretPassesInPiecesAndNoCharacterIsTornApart(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		r := w.Open("j", "a", 1, "x")
		given := "the key is s3cret-0123456789, 世界 \xff."
		for n := range len(given) {
			r.Show(text("answer", n, given[n:n+1]))
			synctest.Wait()
			<-time.After(time.Duration(n%3) * 30 * time.Millisecond)
		}
		r.Show(item.Item{Type: item.Tool, ID: "tool/1", Tool: "fetch", Args: `{"key":"s3cret-0123456789"}`})
		r.End(true)
		synctest.Wait()
		var got strings.Builder
		for _, i := range p.items {
			if i.ID != "answer" {
				continue
			}
			if i.Text != "" && i.Offset != got.Len() {
				t.Errorf("item at %d continues at %d", got.Len(), i.Offset)
			}
			got.WriteString(i.Text)
		}
		if want := "the key is " + redact.Mask + ", 世界 \uFFFD."; got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
		for _, line := range p.lines {
			if strings.Contains(line, "s3cret") {
				t.Error(line)
			}
		}
	})
}

func TestASeamSaysWhatItReplaces(t *testing.T) {
	writing(t, func(t *testing.T, p *recorder, w *Writer) {
		w.Open("j", "a", 3, "x").Seam(3, true)
		w.Open("j", "a", 3, "x").Seam(2, false)
		w.Open("j", "a", 3, "x").Seam(2, true)
		synctest.Wait()
		var got []item.Broken
		for _, i := range p.items {
			got = append(got, *i.Seam)
		}
		musttest.Equal(t, []item.Broken{{Run: 3, Continues: true}, {Run: 2}, {Run: 2, Continues: true}}, got)
	})
}
