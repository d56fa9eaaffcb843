package item_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// proves C8
func TestAHistoryHasWhatWasSaidAndNoMore(t *testing.T) {
	var all []item.Entry
	for _, kind := range []item.Type{
		item.Message, item.Question, item.Answer, item.Thinking, item.Text, item.Tool, item.Component, item.Guidance, item.Warning,
		item.Result, item.Schedule, item.Plan, item.Log, item.Progress, "later",
	} {
		all = append(all, item.Entry{Seq: 1, Item: item.Item{Type: kind, Text: "some " + string(kind), Data: json.RawMessage(`{}`), Args: "x", Done: true}})
	}
	all = append(all, item.Entry{Item: item.Item{Type: item.Schedule, Text: "it begins"}})
	var got []string
	for _, i := range item.History(all) {
		got = append(got, i.Text)
		if i.Data != nil || i.Args != "" {
			t.Errorf("%+v", i)
		}
	}
	want := []string{"some message", "some question", "some answer", "some text", "some guidance", "some warning", "some result", "some schedule"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAHistoryOfMegabytesIsCutToTheNewestWithinItsLimits(t *testing.T) {
	var all []item.Entry
	for n := range 2000 {
		all = append(all, item.Entry{Item: item.Item{Type: item.Message, ID: string(rune('a' + n%26)), Text: strings.Repeat("日", 3000)}})
	}
	all = append(all, item.Entry{Item: item.Item{Type: item.Message, Text: "the last"}})
	got := item.History(all)
	size := 0
	for _, i := range got {
		size += len(i.Text)
		if len(i.Text) > item.MaxTurn || len(i.Text)+i.Truncated != 9000 && i.Text != "the last" {
			t.Errorf("%d bytes, %d cut", len(i.Text), i.Truncated)
		}
	}
	if size > item.MaxHistory || size < item.MaxHistory/2 || got[len(got)-1].Text != "the last" {
		t.Errorf("%d items of %d bytes, the last %q", len(got), size, got[len(got)-1].Text)
	}
	for most, want := range map[int]int{0: 0, 71: 0, 72: 1, 4000: 1, 5000: 2, 1 << 30: len(got)} {
		if list := item.Newest(got, most); len(list) != want {
			t.Errorf("%d bytes: %d items, want %d", most, len(list), want)
		}
	}
}

func TestLinesSayWhoSpeaks(t *testing.T) {
	got := item.Lines([]item.Item{
		{Type: item.Message, User: "ann", Expert: "Scribe", Text: "Hello"},
		{Type: item.Message, Expert: "Scribe", Text: "Hello"},
		{Type: item.Question, Expert: "scribe", Text: "Which?"},
		{Type: item.Answer, User: "ann", Text: "That"},
		{Type: item.Text, Expert: "scribe", Text: "found"},
		{Type: item.Result, Text: "done", Truncated: 9},
	})
	want := "User (ann): Hello\nUser: Hello\nQuestion (scribe): Which?\nUser's answer (ann): That\nText (scribe): found\nResult: done …\n"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsNoHistoryIsReadAsNone(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `"x"`, "[1]", "[{]"} {
		if list := item.Read(json.RawMessage(text)); len(list) != 0 {
			t.Errorf("%q: %+v", text, list)
		}
	}
}

func TestTheFormOfAnItemStays(t *testing.T) {
	whole := item.Entry{Seq: 9, Item: item.Item{
		Type: item.Tool, ID: "tool/1", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Job: "j", SubJob: "a", Run: 2, Expert: "e", User: "u", Offset: 3,
		Text: "t", Truncated: 4, Tool: "fetch", Args: "{}", Bytes: 5, Outcome: "ok", TookMS: 12, Done: true, Component: "report", Data: json.RawMessage(`{"k":1}`), Request: "q",
		Ref: &events.Ref{Digest: "d", Size: 6},
	}}
	got, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":9,"type":"tool","id":"tool/1","at":"2026-01-02T03:04:05Z","job":"j","subjob":"a","run":2,"expert":"e","user":"u","offset":3,` +
		`"text":"t","truncated":4,"tool":"fetch","args":"{}","bytes":5,"outcome":"ok","took_ms":12,"done":true,"component":"report","data":{"k":1},"request":"q",` +
		`"ref":{"digest":"d","size":6}}`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	var back item.Entry
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, whole) {
		t.Errorf("%+v", back)
	}
}
