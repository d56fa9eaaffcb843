package item_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

func TestNamesOfItemsAreThoseOfTheInterface(t *testing.T) {
	n := item.LiveSubjects(events.NewNames(""))
	for got, want := range map[string]string{
		n.Stream(): "JOBS_LIVE", n.All(): "jobs.item.>", n.Job("j1"): "jobs.item.j1.>", n.SubJob("j1", "a"): "jobs.item.j1.a",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func all() []item.Item {
	return []item.Item{
		{
			Type: item.Text, ID: "answer/1", At: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Job: "j1", SubJob: "a", Run: 2, Expert: "x", User: "ann",
			Offset: 3, Text: "<b> & 世界\n\"", Truncated: 4, Done: true,
		},
		{Type: item.Tool, ID: "tool/1/0", Tool: "fetch", Args: `{"a":1}`, Bytes: 9},
		{Type: item.Component, ID: "component/1", Component: "report", Data: json.RawMessage(`{"title":"T"}`), Request: "r1", Ref: &events.Ref{Digest: "d", Size: 7}},
		{Type: item.Seam, ID: "seam/1", Seam: &item.Broken{Run: 1, Continues: true}},
	}
}

// The stored form only grows: the golden file is never edited.
func TestItemsAreReadAsTheyWereWritten(t *testing.T) {
	body, err := item.Encode(all())
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if string(body)+"\n" != string(golden) {
		t.Errorf("written as\n%s\nwant\n%s", body, golden)
	}
	got, unreadable := item.Decode(golden)
	if unreadable != 0 || !reflect.DeepEqual(got, all()) {
		t.Errorf("%d unreadable, read as %+v", unreadable, got)
	}
}

func TestWhatIsNoItemIsCountedAndDoesNotHideTheOthers(t *testing.T) {
	got, unreadable := item.Decode([]byte("hello\n\n{\"type\":\"text\",\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\"}\n[]\n{\"type\":"))
	if unreadable != 4 || len(got) != 1 || got[0].Text != "x" {
		t.Errorf("%d unreadable, %+v", unreadable, got)
	}
}

func TestAPieceOnTheLiveSubjectIsReadAsAnItem(t *testing.T) {
	for body, want := range map[string]item.Item{
		`{"item":"answer/1","offset":3,"text":"x"}`:                 {Type: item.Text, ID: "answer/1", Offset: 3, Text: "x"},
		`{"item":"thought/2","offset":0,"text":"x"}`:                {Type: item.Thinking, ID: "thought/2", Text: "x"},
		`{"item":"tool/1/0","offset":0,"tool":"fetch","args":"{}"}`: {Type: item.Tool, ID: "tool/1/0", Tool: "fetch", Args: "{}"},
		`{"item":"tool/1/0","offset":0,"done":true,"bytes":10}`:     {Type: item.Tool, ID: "tool/1/0", Bytes: 10, Done: true},
		`{"message":"half way","done":5,"total":10}`:                {Type: item.Progress, Text: "half way (5 of 10)", Done: true},
		`half way`: {Type: item.Progress, Text: "half way", Done: true},
		`{"type":"component","id":"c","component":"chart","data":1}`: {Type: item.Component, ID: "c", Component: "chart", Data: json.RawMessage("1")},
		`{"percent":50}`: {Type: item.Progress, Text: `{"percent":50}`, Done: true},
	} {
		if got := item.OfPiece([]byte(body)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, want %+v", body, got, want)
		}
	}
	if got := item.OfPiece([]byte(strings.Repeat("x", 1<<20))); len(got.Text) > 64<<10 || got.Truncated != 1<<20-len(got.Text) {
		t.Errorf("%d bytes, %d left out", len(got.Text), got.Truncated)
	}
}
