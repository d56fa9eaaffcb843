package intake

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// diary is a log that records which jobs were admitted, in order.
type diary struct {
	names events.Names

	mu   sync.Mutex // Guards jobs.
	jobs []string
}

func (d *diary) Publish(_ context.Context, m events.Message, _ bus.Expect) (uint64, error) {
	at, _ := d.names.Parse(m.Subject)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = append(d.jobs, at.Job)
	return uint64(len(d.jobs)), nil
}

func (d *diary) EventsOf(context.Context, string, uint64) iter.Seq2[events.Event, error] { return nil }

func (d *diary) admitted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.jobs)
}

// scale is a load that a test controls.
type scale struct {
	*Gauge
	there Motion
	asked int
}

func (s *scale) There(context.Context) (Motion, error) { s.asked++; return s.there, nil }

// lobby is an intake with room for n jobs in motion.
type lobby struct {
	*servicetest.Env
	diary *diary
	load  *scale
	most  int
	mute  atomic.Bool // What the server is said to be.
	stop  func() error
}

func inLobby(t *testing.T, most int, f func(l *lobby)) {
	servicetest.Virtual(t, func(_ *testing.T, e *servicetest.Env) {
		l := &lobby{Env: e, diary: &diary{names: e.Names}, load: &scale{Gauge: NewGauge(1)}, most: most}
		l.open()
		f(l)
	})
}

// open begins to admit.
func (l *lobby) open() {
	queue := musttest.Get(l.Bus.Queues().Consume(l.Context(), l.Bus.Queues().IntakeConsumer()))(l)
	gate := NewGate(func(context.Context) (bus.StreamFacts, error) { return bus.StreamFacts{}, nil }, 0, 1)
	began := time.Now()
	gate.Mute = func() bus.Mute {
		if l.mute.Load() {
			return bus.Mute{Subjects: []string{"jobs.event"}, Since: began, Last: began}
		}
		return bus.Mute{}
	}
	consumer := Consumer{
		Admitter: NewAdmitter(l.Names, l.diary, nil, DefaultRules()), Load: l.load, Most: l.most, Queue: queue, Teller: l.Bus, Meter: counts{},
		Gate:   gate,
		Logger: slog.New(slog.DiscardHandler),
	}
	l.stop = l.Start("intake", host.Settings{}, func(ctx context.Context, p *host.Process) error { return consumer.Run(p.Intake(), ctx) }).StopAtEnd().Stop
}

// ask publishes a request; more is the rest of its body.
func (l *lobby) ask(id, more string) {
	l.Publish(l.Names.Request(), fmt.Appendf(nil, `{"id":%q,"goal":"g"%s}`, id, more))
}

// turn reports that the jobs admitted so far were seen and are no longer in motion, and returns those admitted since.
func (l *lobby) turn() []string {
	before := len(l.diary.admitted())
	l.load.Of(0).Set(0, uint64(before))
	synctest.Wait()
	return l.diary.admitted()[before:]
}

func TestNoMoreJobsAreAdmittedThanMayBeInMotion(t *testing.T) {
	inLobby(t, 3, func(l *lobby) {
		for i := range 20 {
			l.ask("j"+strconv.Itoa(i), "")
		}
		synctest.Wait()
		if got := len(l.diary.admitted()); got != 3 {
			t.Errorf("%d are admitted before a scheduler has seen one, want 3", got)
		}
		l.load.Of(0).Set(2, 3)
		synctest.Wait()
		if got := len(l.diary.admitted()); got != 4 {
			t.Errorf("%d are admitted with two in motion, want one more", got)
		}
		l.load.Of(0).Set(3, 4)
		<-time.After(time.Minute)
		if got := len(l.diary.admitted()); got != 4 {
			t.Errorf("%d are admitted while three are in motion", got)
		}
		for range 20 {
			l.turn()
		}
		if got := len(l.diary.admitted()); got != 20 {
			t.Errorf("%d of 20 are admitted in the end", got)
		}
	})
}

func TestAJobBehindABurstIsAdmittedSoon(t *testing.T) {
	inLobby(t, 1, func(l *lobby) {
		for i := range 500 {
			l.ask("burst"+strconv.Itoa(i), "")
		}
		synctest.Wait()
		l.ask("anonymous", "")
		l.ask("other", `,"user":"somebody"`)
		synctest.Wait()
		var soon []string
		for range 5 {
			soon = append(soon, l.turn()...)
		}
		if !slices.Contains(soon, "anonymous") || !slices.Contains(soon, "other") || !slices.Contains(soon, "burst1") {
			t.Errorf("the next five are %q: want the two that came behind the burst, and the first of it that waits", soon)
		}
	})
}

func TestRequestsOfASessionKeepTheirOrder(t *testing.T) {
	inLobby(t, 1, func(l *lobby) {
		var want []string
		for i := range 30 {
			id := "j" + strconv.Itoa(i)
			want = append(want, id)
			l.ask(id, `,"session":"s"`)
		}
		synctest.Wait()
		for range want {
			l.turn()
		}
		if got := l.diary.admitted(); !slices.Equal(got, want) {
			t.Errorf("admitted %q", got)
		}
	})
}

func TestRequestsThatWaitAreHeldAndGivenBackAtTheEnd(t *testing.T) {
	inLobby(t, 1, func(l *lobby) {
		for i := range 10 {
			l.ask("j"+strconv.Itoa(i), "")
		}
		synctest.Wait()
		l.load.Of(0).Set(1, 1)
		<-time.After(5 * time.Minute)
		facts, err := l.Bus.Queues().Info(l.Context(), l.Bus.Names().Intake, l.Bus.Queues().IntakeConsumer().Durable)
		if err != nil || facts.Redelivered > 0 || facts.Unsettled != 9 {
			t.Errorf("%+v, %v: want nine that are held, none of them delivered again", facts, err)
		}
		l.stop()
		l.most = 100
		l.open()
		<-time.After(time.Second) // Less than the consumer waits for a missing reader.
		if got := len(l.diary.admitted()); got != 10 {
			t.Errorf("%d of 10 are admitted by the next reader", got)
		}
	})
}

func TestASchedulerThatHasNoPartitionAsksTheBrokerForTheLoad(t *testing.T) {
	inLobby(t, 4, func(l *lobby) {
		l.load.there = Motion{Jobs: 3, Seen: 4}
		for i := range 20 {
			l.ask("j"+strconv.Itoa(i), "")
		}
		synctest.Wait()
		<-time.After(askAfter + askAfter/2)
		if got := len(l.diary.admitted()); got != 5 || l.load.asked == 0 {
			t.Errorf("%d are admitted and the broker was asked %d times, want four, and one more when the broker says that there is room", got, l.load.asked)
		}
	})
}

func TestALargeRequestDoesNotOvertake(t *testing.T) {
	inLobby(t, 1, func(l *lobby) {
		for i := range 9 {
			l.ask("burst"+strconv.Itoa(i), "")
		}
		l.ask("large", `,"context":"`+strings.Repeat("x", smallRequest)+`"`)
		synctest.Wait()
		for range 10 {
			l.turn()
		}
		if got := l.diary.admitted(); got[len(got)-1] != "large" {
			t.Errorf("admitted %q, want the large one last", got)
		}
	})
}

func TestOneWaitingRequestFindsOutThatAMuteServerStoresAgain(t *testing.T) {
	inLobby(t, 0, func(l *lobby) {
		l.mute.Store(true)
		<-time.After(time.Minute)
		for i := range 5 {
			l.ask("j"+strconv.Itoa(i), "")
		}
		<-time.After(lookEvery)
		if got := len(l.diary.admitted()); got > 1 {
			t.Errorf("%d are admitted at once, while nothing is stored", got)
		}
		<-time.After(2*tryEvery + lookEvery)
		if got := len(l.diary.admitted()); got < 2 || got > 3 {
			t.Errorf("%d have tried within %s, want 2 or 3", got, 2*tryEvery)
		}
		l.mute.Store(false)
		<-time.After(2 * lookEvery)
		if got := len(l.diary.admitted()); got != 5 {
			t.Errorf("%d are admitted when the server stores again, want 5", got)
		}
	})
}
