package lenient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotesTellEveryRepairWithItsOffset(t *testing.T) {
	for _, c := range []struct {
		text string
		want Notes
	}{
		{`{"a": 1}`, nil},
		{"Sure:\n```json\n{\"a\": 1}\n```", nil},
		{`{"a": 1,}`, Notes{{ExtraComma, 8, 1}}},
		{`{a: 'b'}`, Notes{{BareKey, 1, 1}, {Quote, 4, 1}}},
		{`{"a": True, "b": 007}`, Notes{{Literal, 6, 1}, {Number, 17, 1}}},
		{`{"a": 1 "b": 2}`, Notes{{MissingComma, 8, 1}}},
		{`{"a" 1, "b": 2}`, Notes{{MissingColon, 5, 1}}},
		{`{"a":, "b": 2}`, Notes{{MissingValue, 5, 1}}},
		{`{"a": [1, 2}`, Notes{{MissingCloser, 11, 1}}},
		{`{"a": [1]], "b": 2}`, Notes{{ExtraCloser, 9, 1}}},
		{`{{"a": {{"b": 1}}}}`, Notes{{ExtraOpener, 8, 1}, {ExtraCloser, 15, 2}}},
		{`"a": 1, "b": 2}`, Notes{{MissingOpener, 0, 1}}},
		{`{"a": [1, 2`, Notes{{Cut, 11, 2}}},
		{"{\"a\": 1 /* x */ // y\n}", Notes{{Comment, 8, 2}}},
		{`{"a"：1，"b": 2}`, Notes{{Punctuation, 4, 2}}},
		{`{"a": "x "y" z", "b": 2}`, Notes{{InnerQuote, 9, 2}}},
		{`{"a": "\d\w"}`, Notes{{Escape, 7, 2}}},
		{"{\"a\": \"x\ty\n\"}", Notes{{Control, 8, 2}}},
		{"{\"a\": \"x\xffy\"}", Notes{{Encoding, 8, 1}}},
		{"\u200b{\u200b\"a\": 1}", Notes{{Space, 4, 1}}},
		{`{"a": "x" + "y"}`, Notes{{Joined, 10, 1}}},
		{`{"a": hello world}`, Notes{{BareText, 6, 1}}},
		{`{"a": [1, ...]}`, Notes{{Ellipsis, 10, 1}, {ExtraComma, 13, 1}}},
		{`{"a": Date("x")}`, Notes{{Wrapper, 6, 1}, {ExtraCloser, 14, 1}}},
		{`{"a": __PAYLOAD_START__x__PAYLOAD_END__}`, Notes{{Payload, 6, 1}}},
		{`{"a": [1] see, "b": 2}`, Notes{{Junk, 10, 1}}},
		{`<think>{"a": 1}`, Notes{{Thought, 7, 1}}},
		{`{\"a\": 1}`, Notes{{Encoded, 0, 1}}},
	} {
		_, notes, _ := Read(c.text, Options{})
		if diff := cmp.Diff(c.want, notes); diff != "" {
			t.Errorf("read %q (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestNotesAreOneLineForALog(t *testing.T) {
	_, notes, err := Read(`{a: 1,, "b": True,}`, Options{})
	if err != nil || notes.String() != "bare key@1 extra comma@6 literal@13 extra comma@18" {
		t.Errorf("%q, %v", notes.String(), err)
	}
	if !notes.Has(Literal) || notes.Has(Cut) {
		t.Errorf("%v", notes)
	}
	_, notes, _ = Read(`[1,,,]`, Options{})
	if notes.String() != "extra comma@3x3" {
		t.Errorf("%q", notes.String())
	}
}

func TestReadAllGivesEveryValueInOrderWithItsPlace(t *testing.T) {
	text := `<think>{"no": 1}</think>a {"i": 1} b [2] c {"i": 3, "cut`
	found, err := ReadAll(text, Options{})
	if err != nil || len(found) != 3 {
		t.Fatalf("%d values, %v", len(found), err)
	}
	for i, want := range []struct {
		value, source string
		cut           bool
	}{{`{"i":1}`, `{"i": 1}`, false}, {`[2]`, `[2]`, false}, {`{"i":3}`, `{"i": 3, "cut`, true}} {
		got := found[i]
		if string(got.JSON) != want.value || text[got.Start:got.End] != want.source || got.Cut != want.cut {
			t.Errorf("value %d: %s from %q, cut %v", i, got.JSON, text[got.Start:got.End], got.Cut)
		}
	}
}

func TestOneBadBlockDoesNotSpoilTheOthers(t *testing.T) {
	text := "```json\n{\"a\": 1}\n```\n```json\n{\"b\": [1, 2}\n```\n```json\n{\"c\": 3,}\n```"
	found, err := ReadAll(text, Options{})
	var got []string
	for _, value := range found {
		got = append(got, string(value.JSON))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b":[1,2]}`, `{"c":3}`}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestFitsIsAskedFromTheLastOnAndNoMoreThanNeeded(t *testing.T) {
	var asked []string
	value, _, err := Read(`{"v": 1} {"v": 2} {"v": 3} {"w": 4}`, Options{Fits: func(value json.RawMessage) bool {
		asked = append(asked, string(value))
		return strings.Contains(string(value), "v")
	}})
	if err != nil || string(value) != `{"v":3}` {
		t.Errorf("%s, %v", value, err)
	}
	if diff := cmp.Diff([]string{`{"w":4}`, `{"v":3}`}, asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

func TestPayloadMarkersAreTheCallers(t *testing.T) {
	value, _, err := Read(`{"a": <<<"x" {y}>>>, "b": 1}`, Options{PayloadStart: "<<<", PayloadEnd: ">>>"})
	if err != nil || string(value) != `{"a":"\"x\" {y}","b":1}` {
		t.Errorf("%s, %v", value, err)
	}
}

func TestADuplicatedKeyIsKeptAndTheLastOneCounts(t *testing.T) {
	value, _, err := Read(`{a: 1, 'a': 2, "a": 3,}`, Options{})
	if err != nil || string(value) != `{"a":1,"a":2,"a":3}` {
		t.Fatalf("%s, %v", value, err)
	}
	var read struct{ A int }
	if err := json.Unmarshal(value, &read); err != nil || read.A != 3 {
		t.Errorf("%d, %v", read.A, err)
	}
}
