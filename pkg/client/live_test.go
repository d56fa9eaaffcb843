package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// show stores items of run 1 of a SubJob in one message.
func show(t *testing.T, c *client.Client, job, subjob string, items ...item.Item) uint64 {
	t.Helper()
	for i := range items {
		items[i].Run = 1
	}
	body := musttest.Get(item.Encode(items))(t)
	ack := musttest.Get(c.Bus().Items().Confirm(job, subjob, "", body))(t)
	return musttest.Get(ack.Wait(t.Context()))(t)
}

func text(id string, offset int, words string) item.Item {
	return item.Item{Type: item.Text, ID: id, Offset: offset, Text: words}
}

// lines reads live items until it has most of them, or to their end.
func lines(t *testing.T, c *client.Client, job string, o client.LiveOptions, most int) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	for i, err := range c.Live(ctx, job, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s/%s %s %s %q", i.Seq, i.Job, i.SubJob, i.Type, i.ID, i.Text))
		if len(list) == most {
			break
		}
	}
	return list
}

// proves F-weakness-issue-2468
// proves F-weakness-i
// proves D15
func TestLiveItemsAreReadAgainFromASequenceAndEndWithTheJob(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	show(t, c, "j1", "a", text("answer/1", 0, "one"))
	show(t, c, "j2", "a", text("answer/1", 0, "of another job"))
	show(t, c, "j1", "a", text("answer/1", 3, " two"), text("answer/2", 0, "three"))
	first := lines(t, c, "j1", client.LiveOptions{}, 2)
	musttest.Equal(t, []string{`1 j1/a text answer/1 "one"`, `3 j1/a text answer/1 " two"`}, first)
	// The browser was closed, and the job went on meanwhile.
	show(t, c, "j1", "b", text("answer/1", 0, "four"))
	rest := []string{`3 j1/a text answer/1 " two"`, `3 j1/a text answer/2 "three"`, `4 j1/b text answer/1 "four"`}
	musttest.Equal(t, rest, lines(t, c, "j1", client.LiveOptions{From: 3}, 3))
	state(t, c, finished("j1"))
	musttest.Equal(t, rest, lines(t, c, "j1", client.LiveOptions{From: 3}, -1))
	musttest.Equal(t, rest[2:], lines(t, c, "j1", client.LiveOptions{SubJob: "b"}, -1))
}

// The follower of a job reads what is kept once more when it has ended, in case something was still on its way: nothing comes twice.
func TestFollowedItemsDoNotComeAgainAtTheEndOfTheJob(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	show(t, c, "j1", "a", text("answer/1", 0, "one"), text("answer/2", 0, "two"))
	var list []string
	for i, err := range c.Live(t.Context(), "j1", client.LiveOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, fmt.Sprintf("%d %s", i.Seq, i.Text)); len(list) == 2 {
			show(t, c, "j1", "a", text("answer/3", 0, "three"))
			state(t, c, finished("j1"))
		}
	}
	musttest.Equal(t, []string{"1 one", "1 two", "2 three"}, list)
}

func TestLiveItemsComeUntilTheJobEnds(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	show(t, c, "j1", "a", text("answer/1", 0, "one"))
	n := 0
	for i, err := range c.Live(t.Context(), "j1", client.LiveOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch n++; n {
		case 1:
			show(t, c, "j1", "a", text("answer/1", 3, "two"))
		case 2:
			state(t, c, finished("j1"))
			show(t, c, "j1", "a", text("answer/1", 6, "after the end"))
		case 3:
			if i.Text != "after the end" {
				t.Errorf("the last item is %q", i.Text)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d items", n)
	}
}

func TestAGapIsNoticed(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	show(t, c, "j1", "a", text("answer/1", 0, "one"))
	show(t, c, "j1", "a", text("answer/1", 10, "later"))
	show(t, c, "j1", "a", text("answer/1", 15, "."), item.Item{Type: item.Gap, ID: "gap/1", Text: "told"})
	show(t, c, "j1", "a", text("answer/1", 100, "after"))
	state(t, c, finished("j1"))
	all := []string{
		`1 j1/a text answer/1 "one"`, `2 j1/a gap answer/1 "7 bytes of answer/1 are missing here"`, `2 j1/a text answer/1 "later"`,
		`3 j1/a text answer/1 "."`, `3 j1/a gap gap/1 "told"`, `4 j1/a text answer/1 "after"`,
	}
	musttest.Equal(t, all, lines(t, c, "j1", client.LiveOptions{}, -1))
	beyond := `0 j1/ gap gap/start "there is no sequence 99: the stream of live items was made again; this is all that is kept"`
	musttest.Equal(t, append([]string{beyond}, all...), lines(t, c, "j1", client.LiveOptions{From: 99}, -1))
	musttest.Do(t, c.Bus().Streams().Purge(t.Context(), "JOBS_LIVE", "jobs.item.j1.a"))
	show(t, c, "j1", "a", text("answer/1", 105, "!"))
	musttest.Equal(t, []string{`0 j1/ gap gap/start "items before sequence 5 are no longer kept"`, `5 j1/a text answer/1 "!"`}, lines(t, c, "j1", client.LiveOptions{From: 2}, -1))
}

func TestLiveItemsOfAJobThatDoesNotExistAreAnError(t *testing.T) {
	c := connect(t)
	for _, err := range c.Live(t.Context(), "ghost", client.LiveOptions{}) {
		if !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
	}
}

func TestManyFollowedJobsShareOneConsumer(t *testing.T) {
	c := connect(t)
	const jobs = 20
	got := make(chan string, jobs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for n := range jobs {
		job := fmt.Sprint("j", n)
		state(t, c, requested(job, "g"))
		show(t, c, job, "a", text("answer/1", 0, "stored"))
		go func() { // Ends with ctx.
			for i, err := range c.Live(ctx, job, client.LiveOptions{}) {
				if err != nil {
					return
				}
				got <- job + " " + i.Text
			}
		}()
	}
	for range jobs {
		<-got
	}
	for n := range jobs {
		show(t, c, fmt.Sprint("j", n), "a", text("answer/1", 6, "new"))
	}
	for range jobs {
		<-got
	}
	facts, err := c.Bus().Streams().Info(t.Context(), "JOBS_LIVE")
	if err != nil || facts.Consumers > 5 {
		t.Errorf("%d consumers for %d jobs, %v", facts.Consumers, jobs, err)
	}
}

func TestWhatAThirdPartyWorkerPublishesIsShownAndWhatTheHousePublishesIsNotShownTwice(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	for id, kind := range map[string]string{"out": "nats", "house": "llm"} {
		card := musttest.JSON(t, events.Card{ID: id, Kind: kind})
		musttest.Get(c.Bus().Experts().Put(t.Context(), id, card, 0))(t)
	}
	saved := `{"id":"j1","status":"RUNNING","subjobs":[{"id":"a","expert":"out","run":3},{"id":"b","expert":"house","run":1}]}`
	musttest.Get(c.Bus().State().Put(t.Context(), "j1", []byte(saved), 0))(t)
	show(t, c, "j1", "b", text("answer/1", 0, "begin"))
	var got []string
	for i, err := range c.Live(t.Context(), "j1", client.LiveOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if i.Text == "begin" {
			for _, subjob := range []string{"b", "a"} {
				musttest.Do(t, c.Bus().PublishCore(c.Names().Live("j1", subjob), nil, []byte(`{"item":"answer/1","offset":0,"text":"piece"}`)))
			}
			continue
		}
		got = append(got, fmt.Sprintf("%d %s %d %s %s", i.Seq, i.SubJob, i.Run, i.Expert, i.Text))
		break
	}
	musttest.Equal(t, []string{"0 a 3 out piece"}, got)
}

func TestTheLogOfARunIsReadFromItsReportOrItsLiveItems(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "g"))
	show(t, c, "j1", "a", item.Item{Type: item.Log, ID: "stderr", Text: "live\n"})
	w, err := c.Logs().Written(t.Context(), "j1", "a", 0)
	if err != nil || *w != (client.Written{Job: "j1", SubJob: "a", Run: 1, Log: "live\n", Live: true}) {
		t.Errorf("%+v, %v", w, err)
	}
	long := musttest.Get(c.Bus().Blobs().Put(t.Context(), "j1", []byte("a long log")))(t)
	for run, report := range []*events.SubJobReported{{Outcome: events.ExecutionError, Log: "short"}, {Outcome: events.Success, LogRef: &long}} {
		state(t, c, events.Event{Kind: events.KindSubJobReported, Job: "j1", SubJob: "a", Run: run + 1, Data: report})
	}
	for run, want := range map[int]client.Written{
		0: {Job: "j1", SubJob: "a", Run: 2, Log: "a long log"}, 1: {Job: "j1", SubJob: "a", Run: 1, Log: "short"},
	} {
		if w, err := c.Logs().Written(t.Context(), "j1", "a", run); err != nil || *w != want {
			t.Errorf("run %d: %+v, %v", run, w, err)
		}
	}
}
