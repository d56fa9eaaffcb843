package loop

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// posted records what a packer publishes: the subject, the expectation, and the members.
type posted struct {
	list []string
	fail map[string]error
}

func (p *posted) Tell(string, []byte) error { return nil }

func (p *posted) Publish(m events.Message, e Expect) Ack {
	note := m.Subject
	if e.Any {
		note += " any"
	}
	if strings.Contains(m.Subject, "~batch") {
		members, err := batch.Read(m.Body)
		if err != nil {
			return outcome{err}
		}
		for i := range members {
			note += " " + members[i].ID
		}
	}
	p.list = append(p.list, note)
	for part, err := range p.fail {
		if strings.Contains(m.Subject, part) {
			return outcome{err}
		}
	}
	return outcome{}
}

func (p *posted) packer() *packer {
	e := &env{Settings: Settings{Names: events.NewNames("")}, Ports: Ports{Publisher: p}}
	return &packer{env: e}
}

func piece(id string, bytes int) batch.Member {
	return batch.Member{Subject: "jobs.work.p.x." + id, ID: id, Work: []byte(`"` + strings.Repeat("x", bytes) + `"`)}
}

func TestWorkOfOneExpertGoesInOneBatch(t *testing.T) {
	p := &posted{}
	k := p.packer()
	var acks []Ack
	for _, add := range []struct {
		to  address
		job string
		id  string
	}{
		{address{"p", "x"}, "j1", "a"},
		{address{"p", "y"}, "j1", "b"},
		{address{"p", "x"}, "j2", "c"},
		{address{"q", "x"}, "j1", "d"},
		{address{"q", "x"}, "j1", "e"},
	} {
		ack := musttest.Get(k.add(add.to, add.job, piece(add.id, 1)))(t)
		acks = append(acks, ack)
	}
	if len(p.list) > 0 {
		t.Errorf("%q before the end of the round", p.list)
	}
	if err := k.flush(); err != nil || len(k.open) > 0 {
		t.Fatal(err, k.open)
	}
	slices.Sort(p.list)
	want := []string{
		"jobs.work.p.x.b", // Separately as before: the first on its subject, under its own id.
		"jobs.work.p~batch.x.~batch.~batch.2 any a c",
		"jobs.work.q~batch.x.j1.~batch.2 any d e",
	}
	musttest.Equal(t, want, p.list)
	for i, ack := range acks {
		if _, err := ack.Wait(t.Context()); err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
}

func TestAFullBatchGoesAndAnotherOneBegins(t *testing.T) {
	p := &posted{}
	k := p.packer()
	for i := range batch.MostMembers + 2 {
		musttest.Get(k.add(address{"p", "x"}, "j", piece(strconv.Itoa(i), 1)))(t)
	}
	for _, id := range []string{"large 1", "large 2"} {
		musttest.Get(k.add(address{"p", "x"}, "j", piece(id, batch.MostBytes*2/3)))(t)
	}
	musttest.Get(k.add(address{"p", "x"}, "j", piece("none", batch.MostBytes)))(t)
	musttest.Do(t, k.flush())
	var got []string
	for _, note := range p.list {
		fields := strings.Fields(note)
		got = append(got, fields[0])
	}
	want := []string{"jobs.work.p~batch.x.j.~batch.64", "jobs.work.p~batch.x.j.~batch.3", "jobs.work.p.x.none", "jobs.work.p.x.large"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%q", diff, p.list)
	}
}

func TestTheOutcomeOfABatchIsThatOfEachMember(t *testing.T) {
	lost := errors.New("lost")
	p := &posted{fail: map[string]error{"~batch": lost}}
	k := p.packer()
	first, _ := k.add(address{"p", "x"}, "j", piece("a", 1))
	second, _ := k.add(address{"p", "x"}, "j", piece("b", 1))
	musttest.Do(t, k.flush())
	for _, ack := range []Ack{first, second} {
		if _, err := ack.Wait(t.Context()); !errors.Is(err, lost) {
			t.Errorf("%v, want %v", err, lost)
		}
	}
}

func TestAnExpertIsQuickAfterManyQuickRunsAndSlowAfterOne(t *testing.T) {
	p, x := paces{}, address{"p", "x"}
	report := func(ms int64) *events.SubJobReported {
		return &events.SubJobReported{Owner: "runner", Started: time.Unix(1, 0), DurationMS: ms}
	}
	for i := range quickRuns {
		if p.quick(x) {
			t.Fatalf("quick after %d runs", i)
		}
		p.note(x, report(quickMS))
	}
	if !p.quick(x) || p.quick(address{"p", "y"}) {
		t.Error("it is not quick, or its neighbour is")
	}
	foreign := &events.SubJobReported{DurationMS: 1}
	for _, slow := range []*events.SubJobReported{report(quickMS + 1), foreign} {
		p[x] = quickRuns
		if p.note(x, slow); p.quick(x) {
			t.Errorf("quick after %+v", slow)
		}
	}
	for i := range maxPaces {
		p.note(address{"p", fmt.Sprint(i)}, report(1))
	}
	if p.note(address{"p", "one more"}, report(1)); len(p) != 1 {
		t.Errorf("%d experts are known", len(p))
	}
}

// takers takes batches of one pool.
type takers string

func (k takers) Takes(pool string) bool { return pool == string(k) }

// Work is sent separately if its expert is not known to be quick, or its pool takes no batches.
func TestOnlyQuickWorkOfPoolsThatTakeBatchesIsPacked(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	quick, slow, other := address{"mine", "quick"}, address{"mine", "slow"}, address{"other", "quick"}
	p.outbox.paces[quick], p.outbox.paces[other] = quickRuns, quickRuns
	if p.outbox.packs(quick) {
		t.Error("work is packed although no pool takes batches")
	}
	p.Takers = takers("mine")
	if !p.outbox.packs(quick) || p.outbox.packs(slow) || p.outbox.packs(other) {
		t.Errorf("packed: quick %v, slow %v, of another pool %v", p.outbox.packs(quick), p.outbox.packs(slow), p.outbox.packs(other))
	}
	p.BatchAtOnce = true
	if !p.outbox.packs(slow) || p.outbox.packs(other) {
		t.Errorf("at once: slow %v, of another pool %v", p.outbox.packs(slow), p.outbox.packs(other))
	}
}
