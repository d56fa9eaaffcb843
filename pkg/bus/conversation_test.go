package bus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// said stores items "1" to n of a session in one batch.
func said(tb testing.TB, b *bus.Bus, session string, from, to int) {
	tb.Helper()
	var list []events.Message
	for i := from; i <= to; i++ {
		m, err := b.Conversations().Message(session, fmt.Sprint(session, i), &item.Item{Type: item.Message, ID: fmt.Sprint(i), Text: fmt.Sprintf("This is sentence number %d of what was said in the session.", i)})
		noErr(tb, err)
		list = append(list, m)
	}
	for _, err := range b.PublishAll(tb.Context(), list, bus.Expect{}) {
		noErr(tb, err)
	}
}

func ids(list []item.Entry) (ids []string) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

func upTo(from, to int) (ids []string) {
	for i := from; i <= to; i++ {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

func TestAConversationIsReadInPagesFromItsEnd(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	for _, part := range []struct {
		session  string
		from, to int
	}{{"talk", 1, 3}, {"other", 1, 700}, {"talk", 4, 40}, {"other", 701, 3000}, {"talk", 41, 900}, {"more", 1, 2500}, {"talk", 901, 905}} {
		said(t, b, part.session, part.from, part.to)
	}
	said(t, b, "talk", 1, 905) // A repeat adds nothing.
	c := b.Conversations()
	for _, most := range []int{1, 7, 50, 400, 905, 906} {
		var pages []string
		before := uint64(0)
		for {
			p, err := c.Page(t.Context(), "talk", before, most)
			noErr(t, err)
			if len(p.Items) > most || p.Earlier && len(p.Items) != most {
				t.Fatalf("page of %d: %d items, earlier %v", most, len(p.Items), p.Earlier)
			}
			pages = append(ids(p.Items), pages...)
			if !p.Earlier {
				break
			}
			before = p.Items[0].Seq
		}
		if diff := cmp.Diff(upTo(1, 905), pages); diff != "" {
			t.Errorf("in pages of %d: %s", most, diff)
		}
	}
	var rest []item.Entry
	p, err := c.Page(t.Context(), "talk", 0, 3)
	noErr(t, err)
	for e, err := range c.After(t.Context(), "talk", p.Items[0].Seq) {
		noErr(t, err)
		rest = append(rest, e)
	}
	if diff := cmp.Diff(upTo(904, 905), ids(rest)); diff != "" || rest[0].At.IsZero() {
		t.Error(diff)
	}
	noErr(t, c.Delete(t.Context(), "talk"))
	for session, want := range map[string]int{"talk": 0, "never": 0, "more": 2} {
		p, err := c.Page(t.Context(), session, 0, 2)
		noErr(t, err)
		if len(p.Items) != want || p.Earlier != (want > 0) {
			t.Errorf("%s: %d items, earlier %v", session, len(p.Items), p.Earlier)
		}
	}
}

func TestABusWithoutConversationsHasEmptyOnes(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	c := b.Conversations()
	there, err := c.Exists(t.Context())
	noErr(t, err)
	noErr(t, sdk(t, server).DeleteStream(t.Context(), item.Stream(b.Names())))
	gone, err := c.Exists(t.Context())
	noErr(t, err)
	if !there || gone {
		t.Errorf("exists: %v, then %v", there, gone)
	}
	p, err := c.Page(t.Context(), "talk", 0, 9)
	noErr(t, err)
	for e, err := range c.After(t.Context(), "talk", 0) {
		noErr(t, err)
		p.Items = append(p.Items, e)
	}
	noErr(t, c.Delete(t.Context(), "talk"))
	m, err := c.Message("talk", "1", &item.Item{Type: item.Message})
	noErr(t, err)
	_, err = b.PublishAsync(m, bus.Expect{}).Wait(t.Context())
	if !c.Absent(err) || len(p.Items) > 0 {
		t.Errorf("%v, %v", err, p.Items)
	}
}

// BenchmarkTheLastPageOfAConversation reads the last 50 of 10,000 items, among those of other sessions.
func BenchmarkTheLastPageOfAConversation(b *testing.B) {
	conn := bustest.Start(b, bustest.Settings{}).Bus("bench")
	for i := range 20 {
		said(b, conn, "talk", i*500+1, i*500+500)
		said(b, conn, fmt.Sprint("other", i%3), i*300+1, i*300+300)
	}
	for b.Loop() {
		p, err := conn.Conversations().Page(b.Context(), "talk", 0, 50)
		if noErr(b, err); !slices.Equal(ids(p.Items), upTo(9951, 10000)) {
			b.Fatal(ids(p.Items))
		}
	}
}
