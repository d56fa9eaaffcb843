package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// maxSteps limits the cost of a byte, whatever surrounds it: the readings of one text times the look-ahead.
const maxSteps = 300

// seeds are the texts of the corpus and a few dense ones.
func seeds(f *testing.F) {
	f.Helper()
	for _, c := range corpus(f) {
		f.Add(c.text)
	}
	for _, text := range []string{"", "{", "[", `"`, `{"a":`, "```json\n", "<think>", "\xef\xbb\xbf{}", `{"a":"\ud83d\ude00"}`} {
		f.Add(text)
	}
}

// FuzzReadKeepsValidJSON: what encoding/json accepts comes back byte for byte, without white space.
func FuzzReadKeepsValidJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		keeps(t, text, text)
		// The same value in prose, in a fence and behind thinking, where a bare value would be prose.
		if trimmed := strings.TrimSpace(text); trimmed[0] == '{' && len(trimmed) > 2 && !strings.ContainsAny(trimmed[1:2], " \t\r\n}") {
			keeps(t, "```json\n"+text+"\n```", text)
			keeps(t, "<think>{\"no\": [1}</think>\n"+text, text)
			keeps(t, "结果如下：\n"+text+"\n以上。", text)
		}
	})
}

func keeps(t *testing.T, text, value string) {
	t.Helper()
	got, notes, err := Read(text, Options{MaxDepth: MaxMaxDepth, MaxBytes: len(text) + 1})
	var want bytes.Buffer
	musttest.Do(t, json.Compact(&want, []byte(value)))
	if err != nil || !bytes.Equal(got, want.Bytes()) || len(notes) > 0 {
		t.Fatalf("read %q\n got %s\nwant %s\nnotes %v, error %v", text, got, want.Bytes(), notes, err)
	}
}

// FuzzReadGivesValidJSON: whatever comes back is valid JSON, in bounds, with notes inside the text, by a bounded number
// of steps; an error is one of the package's.
func FuzzReadGivesValidJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) { checkAny(t, text) })
}

func checkAny(t *testing.T, text string) {
	t.Helper()
	o := Options{Tags: []string{"deliverable"}}.filled()
	found, steps, err := read(text, o)
	if limit := maxSteps * (len(text) + 1); steps > limit {
		t.Fatalf("%d steps for %d bytes, at most %d: %.200q", steps, len(text), limit, text)
	}
	if err != nil {
		known(t, text, err)
	}
	for _, value := range found {
		if !json.Valid(value.JSON) {
			t.Fatalf("read %q\n got invalid %s\nnotes %v", text, value.JSON, value.Notes)
		}
		if value.Start < 0 || value.Start > value.End || value.End > len(text) {
			t.Fatalf("read %q\n got %s from %d to %d", text, value.JSON, value.Start, value.End)
		}
		for _, note := range value.Notes {
			if note.At < 0 || note.At > len(text) || note.Count < 1 || note.Kind == "" {
				t.Fatalf("read %q\n got note %+v", text, note)
			}
		}
		if again, _, err := Read(value.JSON, Options{}); err != nil || !bytes.Equal(again, value.JSON) {
			t.Fatalf("read %q\n got %s\n and from that %s, %v", text, value.JSON, again, err)
		}
	}
	for _, fits := range []func(json.RawMessage) bool{nil, Object, Array} {
		value, _, err := Read(text, Options{Fits: fits})
		if err == nil && (!json.Valid(value) || fits != nil && !fits(value)) {
			t.Fatalf("read %q\n got %s without an error", text, value)
		}
		if err != nil {
			known(t, text, err)
		}
	}
}

// shapes are what texts are examined against.
var shapes = []*Shape{nil, ShapeOf(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"boolean"}},"additionalProperties":false}}},"required":["a"]}`))}

// FuzzExamine: what is valid comes back unchanged; whatever comes back is valid JSON, by a bounded number of steps; a
// doubt is inside the text.
func FuzzExamine(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) { checkExamined(t, text) })
}

func checkExamined(t *testing.T, text string) {
	t.Helper()
	valid := json.Valid([]byte(text)) && utf8.ValidString(text)
	for _, shape := range shapes {
		o := Options{Shape: shape, Tags: []string{"deliverable"}}.filled()
		o.examine = true
		if _, steps, _ := read(text, o); steps > (maxSteps+2*maxWork)*(len(text)+1)+8*lookAhead {
			t.Fatalf("%d steps for %d bytes: %.200q", steps, len(text), text)
		}
		r, err := Examine(text, Options{Shape: shape, MaxDepth: MaxMaxDepth})
		if err != nil {
			known(t, text, err)
			continue
		}
		if !json.Valid(r.JSON) || (r.Trust == Guessed) != (r.Doubt != nil) || r.Doubt != nil && (r.Doubt.At < 0 || r.Doubt.At > len(text)) {
			t.Fatalf("examine %q\n got %s, %v, doubt %+v", text, r.JSON, r.Trust, r.Doubt)
		}
		var want bytes.Buffer
		if valid && shape == nil && (json.Compact(&want, []byte(text)) != nil || !bytes.Equal(want.Bytes(), r.JSON) || r.Trust == Repaired) {
			t.Fatalf("examine %q\n got %s, %v, notes %v", text, r.JSON, r.Trust, r.Notes)
		}
	}
}

func TestExamineSurvivesACutAtEveryByte(t *testing.T) {
	for _, c := range corpus(t) {
		for i := range c.text {
			checkExamined(t, c.text[:i])
			checkExamined(t, c.text[i:])
		}
	}
}

// doubledWhole is read by Examine as a doubled quote, not as a quoted word.
const doubledWhole = "inner-quote/the whole value"

func TestExamineReadsWhatReadReadsOrSaysThatItIsAGuess(t *testing.T) {
	guesses := 0
	cases := corpus(t)
	for _, c := range cases {
		r, err := Examine(c.text, c.options)
		switch {
		case err == nil && r.Trust == Guessed:
			guesses++
		case c.err != nil && err == nil, c.err == nil && err != nil, c.name == doubledWhole:
		case err == nil && !bytes.Equal(r.JSON, []byte(c.want)):
			t.Errorf("%s: got %s, want %s", c.name, r.JSON, c.want)
		}
	}
	if guesses*10 > len(cases) {
		t.Errorf("%d of %d cases are guesses", guesses, len(cases))
	}
}

func known(t *testing.T, text string, err error) {
	t.Helper()
	for _, sentinel := range []error{ErrNoJSON, ErrTruncated, ErrNoFit, ErrTooDeep, ErrTooLarge} {
		if errors.Is(err, sentinel) {
			return
		}
	}
	t.Fatalf("read %q: unknown error %v", text, err)
}

// FuzzReadIsLinear: a text made of any pattern repeated costs a bounded number of steps per byte.
func FuzzReadIsLinear(f *testing.F) {
	for _, pattern := range patterns() {
		f.Add("", pattern, "")
	}
	f.Add(`{"a": "`, `", "`, `"}`)
	f.Add("[A ", "0\xff", "'z")
	f.Add(`{"a": '`, `', 「`, `'}`)
	f.Add(`[`, `"a" `, `]`)
	f.Fuzz(func(t *testing.T, head, pattern, tail string) {
		if pattern == "" || len(head)+len(pattern)+len(tail) > 200 {
			return
		}
		for _, size := range []int{1 << 10, 1 << 14} {
			text := head + strings.Repeat(pattern, size/len(pattern)) + tail
			_, steps, _ := read(text, Options{Tags: []string{"t"}}.filled())
			if limit := maxSteps * (len(text) + 1); steps > limit {
				t.Fatalf("%d steps for %d bytes of %q %q %q", steps, len(text), head, pattern, tail)
			}
			o := Options{Shape: shapes[1]}.filled()
			o.examine = true
			if _, steps, _ := read(text, o); steps > (maxSteps+2*maxWork)*(len(text)+1)+8*lookAhead {
				t.Fatalf("examined: %d steps for %d bytes of %q %q %q", steps, len(text), head, pattern, tail)
			}
		}
	})
}

// patterns are what a text may be nothing but.
func patterns() []string {
	list := []string{
		"，", "“", "”", "{[", `"\`, `\"`, `{"`, `{"a":`, `[{"a":`, `{"a":1}`, `{"a":1},`, "{}", "[]", `","`, `", "`, `':'`, `":"`, "「」", "',「",
		"```", "```json\n", "```json\n\"a", "<think>", "</think>", "<think></think>", "</", "<t>", "</t>", "<t>{", "{a", "{a:", "a:", "//", "/*", "#", "# ",
		"...", "…", "\n", "\r\n", "\u200b", "\ufeff", "\xff", "\xe4\xb8", `\u`, `\u12`, `"""`, "'''", "__PAYLOAD_START__", "__PAYLOAD_END__", "(", "((", ")(", "f(", "f({",
		"}]", "]}", "}},", "1 ", "1,", "+\"", "\"+", "\"\n", "\"\n\"", "{\"a\":\"\n\"b", "true ", "nul", "- ", "=>", `{\"`, "0\xff", "o\xff", "b'a'", "b'a',", "0n", "-0", "0.", "【", "（", "“：", "”，“", "{{", "}}",
	}
	for c := range byte(128) {
		list = append(list, string(rune(c)))
	}
	return list
}
