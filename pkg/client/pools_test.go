package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// listed returns a client with a list of signers that is empty.
func listed(t *testing.T) *client.Client {
	t.Helper()
	return listedOn(t, bustest.Start(t, bustest.Settings{Quiet: true}))
}

func listedOn(t *testing.T, server *bustest.Server) *client.Client {
	t.Helper()
	file := musttest.Temp(t, "signers.json", `{"since":"2100-01-01T00:00:00Z","journals":"1970-01-01T00:00:00Z","signers":[]}`)
	o := server.Options("client-test")
	o.Signers = file
	b := musttest.Get(bus.Connect(t.Context(), o))(t)
	t.Cleanup(b.Close)
	musttest.Do(t, b.Streams().Init(t.Context()))
	return client.New(b)
}

// Records of other pools count nowhere: not as calls, not in an export. An export names no pools, so it can be imported anywhere.
func TestRecordsOfOtherPoolsAreNotShownOrExported(t *testing.T) {
	from, to, pooled := listed(t), connect(t), listed(t)
	state(t, from, requested("j1", "x"))
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "x", Pool: "old"}, {ID: "b", Goal: "g", Expert: "x", Pool: "new"}}}
	state(t, from, events.Event{Kind: events.KindGraphCreated, Job: "j1", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}})
	state(t, from, events.Event{Kind: events.KindRerunRequested, Job: "j1", Data: &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y","pool":"new"}`)}})
	state(t, from, events.Event{Kind: events.KindSubJobClosed, Job: "j1", SubJob: "a", Run: 1, Data: &events.SubJobClosed{}})
	intent := func(number int, key string) events.JournalRecord {
		return events.JournalRecord{Type: events.JournalIntent, Run: number, Owner: "r", Key: key, Name: "pay"}
	}
	put := func(subjob, pool string, r events.JournalRecord) {
		t.Helper()
		j := from.Bus().Journal("j1", subjob).In(pool)
		_, last, err := j.Read(t.Context())
		if err == nil {
			_, err = j.Append(t.Context(), r, last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("a", "old", intent(1, "once"))
	put("a", "", run.Closed(1, "edited"))
	put("a", "new", intent(2, "now"))
	put("a", "old", intent(2, "too late"))
	put("a", "foe", intent(2, "forged"))
	put("b", "old", intent(1, "never there"))
	put("ghost", "foe", intent(1, "of no SubJob"))
	put(events.PlanID+"~1~investigate-1-1", "any", intent(1, "asked"))
	keys := func(c *client.Client, subjob string) (list []string) {
		t.Helper()
		calls := musttest.Get(c.Journals().Calls(t.Context(), "j1", subjob))(t)
		for i := range calls {
			list = append(list, calls[i].Key)
		}
		return list
	}
	x := musttest.Get(from.Archive().Export(t.Context(), "j1", time.Unix(0, 0)))(t)
	for _, c := range []*client.Client{to, pooled} {
		musttest.Do(t, c.Archive().Import(t.Context(), x))
	}
	if entries, _, err := pooled.Bus().Journal("j1", "a").In("new").Read(t.Context()); err != nil || len(entries) != 3 { // A run that goes on there finds them.
		t.Errorf("%+v, %v", entries, err)
	}
	for subjob, want := range map[string][]string{"a": {"once", "now"}, "b": nil, "ghost": nil, events.PlanID + "~1~investigate-1-1": {"asked"}} {
		for name, c := range map[string]*client.Client{"with pools": from, "imported": to, "imported where there are pools": pooled} {
			if diff := cmp.Diff(want, keys(c, subjob)); diff != "" {
				t.Errorf("calls of %s, %s: %s", subjob, name, diff)
			}
		}
	}
	if timed, err := from.Journals().Timed(t.Context(), "j1", time.Time{}); err != nil || len(timed) != 3 {
		t.Errorf("%+v, %v", timed, err)
	}
}

// shownIn stores items of a SubJob on the subject of a pool.
func shownIn(t *testing.T, c *client.Client, subjob, pool string, items ...item.Item) {
	t.Helper()
	body, err := item.Encode(items)
	var ack bus.Ack
	if err == nil {
		ack, err = c.Bus().Items().Confirm("j1", subjob, pool, body)
	}
	if err == nil {
		_, err = ack.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Items of other pools count nowhere: neither those of a pool that never had the run, nor those of one that has it no more.
func TestLiveItemsOfOtherPoolsAreNotShown(t *testing.T) {
	c := listed(t)
	state(t, c, requested("j1", "x"))
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "x", Pool: "old"}}}
	state(t, c, events.Event{Kind: events.KindGraphCreated, Job: "j1", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}})
	say := func(run int, text string) item.Item {
		return item.Item{Type: item.Log, ID: "log/" + text, Run: run, Text: text, Done: true}
	}
	const asked = events.PlanID + "~1~look-1"
	shownIn(t, c, asked, "far", say(1, "not announced"))
	shownIn(t, c, asked, "", item.Item{Type: item.Progress, ID: "consulted", Run: 1, Pool: "far", Text: "announced", Done: true})
	shownIn(t, c, asked, "near", say(1, "not consulted"))
	shownIn(t, c, events.PlanID, "", say(1, "planner"))
	shownIn(t, c, events.PlanID, "old", say(1, "not the planner"))
	shownIn(t, c, asked, "far", say(2, "of a run that is not announced"))
	shownIn(t, c, "a", "new", say(1, "not yet"))
	shownIn(t, c, "a", "old", say(1, "one"), say(2, "not begun"), say(0, "without a run"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull2(c.Live(ctx, "j1", client.LiveOptions{}))
	defer end()
	read := func(want ...string) {
		t.Helper()
		for _, text := range want {
			if i, err, _ := next(); err != nil || i.Text != text {
				t.Fatalf("%q, %v instead of %q", i.Text, err, text)
			}
		}
	}
	read("not announced", "announced", "planner", "one", "without a run")
	state(t, c, events.Event{Kind: events.KindRerunRequested, Job: "j1", Data: &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y","pool":"new"}`)}})
	state(t, c, events.Event{Kind: events.KindSubJobClosed, Job: "j1", SubJob: "a", Run: 1, Data: &events.SubJobClosed{}})
	shownIn(t, c, "a", "old", say(0, "of a run that is over"))
	shownIn(t, c, "a", "old", say(1, "late"), say(2, "too late"), say(0, "nor without a run"))
	shownIn(t, c, "a", "new", say(2, "two"))
	read("late", "two")
	written, err := c.Logs().Written(t.Context(), "j1", "a", 2)
	if err != nil || written.Log != "two" {
		t.Errorf("%+v, %v", written, err)
	}
	var all []string
	for m, err := range c.Logs().Items(t.Context(), "j1", "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range m.Items {
			all = append(all, i.Text)
		}
	}
	musttest.Equal(t, []string{"one", "late", "two"}, all)
}

// Items that do not count keep no reader of a job that has ended.
func TestForgedItemsKeepNoReader(t *testing.T) {
	c := listed(t)
	state(t, c, requested("j1", "x"))
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	next, end := iter.Pull2(c.Live(ctx, "j1", client.LiveOptions{}))
	defer end()
	shownIn(t, c, events.PlanID, "", item.Item{Type: item.Text, ID: "x", Run: 1, Text: "planned"})
	if i, err, _ := next(); err != nil || i.Text != "planned" {
		t.Fatal(i, err)
	}
	ended := make(chan error, 1)
	go func() { // Ends with the reading.
		_, err, more := next()
		if more && err == nil {
			err = errors.New("an item is shown")
		}
		ended <- err
	}()
	state(t, c, events.Event{Kind: events.KindJobFinished, Job: "j1", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}})
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			shownIn(t, c, events.PlanID, "foe", item.Item{Type: item.Text, ID: "x", Run: 1, Text: "forged"})
		}
	}
}

// A reader without a list of signers cannot know who may publish where: it shows what there is, also on a bus that has had roles.
func TestItemsOfEveryPoolAreShownWhereNoSignaturesCount(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	shownIn(t, c, "a", "far", item.Item{Type: item.Log, ID: "log", Run: 1, Text: "said", Done: true})
	var all []string
	for m, err := range c.Logs().Items(t.Context(), "j1", "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range m.Items {
			all = append(all, i.Text)
		}
	}
	if diff := cmp.Diff([]string{"said"}, all); diff != "" {
		t.Error(diff)
	}
}

// What a worker of another pool says while a SubJob is executed is not shown, nor what it says of a SubJob that has not begun.
func TestPiecesOfOtherPoolsAreNotShown(t *testing.T) {
	c := listed(t)
	state(t, c, requested("j1", "x"))
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "out", Pool: "near"}, {ID: "b", Goal: "g", Expert: "out", Pool: "near", Dependencies: []string{"a"}}}}
	state(t, c, events.Event{Kind: events.KindGraphCreated, Job: "j1", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}})
	if _, err := c.Bus().Experts().Put(t.Context(), "out", musttest.JSON(t, events.Card{ID: "out", Kind: "nats"}), 0); err != nil {
		t.Fatal(err)
	}
	saved := `{"id":"j1","status":"RUNNING","subjobs":[{"id":"a","expert":"out","run":1},{"id":"b","expert":"out","run":1}]}`
	if _, err := c.Bus().State().Put(t.Context(), "j1", []byte(saved), 0); err != nil {
		t.Fatal(err)
	}
	shownIn(t, c, events.PlanID, "", item.Item{Type: item.Text, ID: "x", Run: 1, Text: "begin", Done: true})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull2(c.Live(ctx, "j1", client.LiveOptions{}))
	defer end()
	read := func(want string, run int) {
		t.Helper()
		if i, err, _ := next(); err != nil || i.Text != want || i.Run != run {
			t.Fatalf("%q of run %d, %v instead of %q of run %d", i.Text, i.Run, err, want, run)
		}
	}
	say := func(subjob, pool, text string) {
		t.Helper()
		if err := c.Bus().Items().Pass("j1", subjob, pool, []byte(`{"item":"answer/1","offset":0,"text":"`+text+`"}`)); err != nil {
			t.Fatal(err)
		}
	}
	read("begin", 1)
	say("a", "foe", "of another pool")
	say("b", "near", "not begun")
	say("a", "near", "one")
	read("one", 1)
	state(t, c, events.Event{Kind: events.KindRerunRequested, Job: "j1", Data: &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y","pool":"new"}`)}})
	state(t, c, events.Event{Kind: events.KindSubJobClosed, Job: "j1", SubJob: "a", Run: 1, Data: &events.SubJobClosed{}})
	say("a", "near", "late")
	say("a", "new", "two")
	read("two", 2)
}

// What the planner says of an expert that it consults is no announcement of a run unless it names pool and run.
func TestTheItemsOfAConsultedExpertCountOnceItsRunIsAnnounced(t *testing.T) {
	c := listed(t)
	state(t, c, requested("j1", "x"))
	const asked = events.PlanID + "~1~look-1"
	said := func(subjob, pool, text, of string, run int) {
		t.Helper()
		shownIn(t, c, subjob, pool, item.Item{Type: item.Progress, ID: text, Run: run, Pool: of, Text: text, Done: true})
	}
	said(events.PlanID, "", "begin", "", 1)
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	next, end := iter.Pull2(c.Live(ctx, "j1", client.LiveOptions{}))
	defer end()
	read := func(want string) {
		t.Helper()
		if i, err, _ := next(); err != nil || i.Text != want {
			t.Fatalf("%q, %v instead of %q", i.Text, err, want)
		}
	}
	read("begin")
	said(asked, "far", "before anything is said", "", 1)
	said(events.PlanID, "", "goes on", "", 1)
	read("goes on")
	said(asked, "", "which one?", "", 1)
	said(asked, "far", "before a pool is named", "", 1)
	read("which one?")
	said(events.PlanID, "", "goes on again", "", 1)
	read("goes on again")
	said(asked, "", "whom?", "far", 0)
	said(asked, "far", "before a run is named", "", 1)
	read("whom?")
	said(events.PlanID, "", "has decided", "", 1)
	read("has decided")
	said(asked, "", "announced", "far", 1)
	said(asked, "far", "shown", "", 1)
	read("announced")
	read("shown")
}

// An item of a job that does not exist does not count.
func TestItemsOfNoJobAreNotShown(t *testing.T) {
	c := listed(t)
	shownIn(t, c, "a", "near", item.Item{Type: item.Text, ID: "x", Run: 1, Text: "of no job"})
	for m, err := range c.Logs().Items(t.Context(), "j1", "a", 0) {
		if err != nil || len(m.Items) > 0 {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// On a bus that keeps no live items, those of other pools count no more than elsewhere.
func TestItemsThatAreNotKeptAreJudgedToo(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{Quiet: true})
	c := listedOn(t, server)
	raw, err := nats.Connect("", nats.InProcessServer(server))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	js, err := jetstream.New(raw)
	if err == nil {
		err = js.DeleteStream(t.Context(), item.LiveSubjects(c.Names()).Stream())
	}
	if err != nil {
		t.Fatal(err)
	}
	state(t, c, requested("j1", "x"))
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "x", Pool: "near"}}}
	state(t, c, events.Event{Kind: events.KindGraphCreated, Job: "j1", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}})
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	read := make(chan string)
	go func() { // Ends with the third item or ctx.
		defer close(read)
		n := 0
		for i, err := range c.Live(ctx, "j1", client.LiveOptions{}) {
			if err != nil {
				t.Error(err)
				return
			}
			if read <- i.Text; n == 2 {
				return
			}
			n++
		}
	}()
	for more := true; more; {
		select {
		case text, ok := <-read:
			if more = ok; ok && text != "of its pool" {
				t.Errorf("%q is shown", text)
			}
		default:
			for _, pool := range []string{"foe", "near"} {
				body, err := item.Encode([]item.Item{{Type: item.Text, ID: "x", Run: 1, Text: map[bool]string{true: "of its pool", false: "forged"}[pool == "near"]}})
				if err == nil {
					err = c.Bus().Items().Send("j1", "a", pool, body)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
