package lenient

import (
	"bytes"
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"pgregory.net/rapid"
)

// bits are the parts of strings here: everything that means something outside them.
var bits = []string{
	"a", "b c", "统计", "库存", "，", "。", "：", "；", "、", "“", "”", "‘", "’", "「", "」", "《", "》", "（", "）", "【", "】", "…", "—", "　",
	"\"", "'", "`", ",", ":", "{", "}", "[", "]", "(", ")", ", ", ": ", "//", "/*", "*/", "#", "```", "\n", "\t", "\\", "True", "None", "...", "=", "+",
	"it's", "“甲”，“乙”", "“甲”：乙", "他说“好”", "</d>", "1", "-", "\u200b", "é", "😀", "http://x.org/a?b=c&d", "key: value", "a, b: c",
}

// text draws a string of such bits.
func text(least int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), least, 6).Draw(t, "bits"), "")
	})
}

// value draws any JSON value down to a depth.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case kind >= 5 && depth > 0:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "array")
		case kind >= 3 && depth > 0:
			return rapid.MapOfN(text(1), value(depth-1), 0, 4).Draw(t, "object")
		case kind == 0:
			return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
		case kind == 1:
			return rapid.IntRange(-1000, 1000).Draw(t, "number")
		}
		return text(0).Draw(t, "string")
	})
}

// encode writes a value plainly, with or without line breaks.
func encode(t *rapid.T, v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if rapid.Bool().Draw(t, "indented") {
		encoder.SetIndent("", "  ")
	}
	musttest.Do(t, encoder.Encode(v))
	return strings.TrimSpace(out.String())
}

// compacted is a value as Read writes it.
func compacted(t *rapid.T, v string) string {
	var out bytes.Buffer
	musttest.Do(t, json.Compact(&out, []byte(v)))
	return out.String()
}

// check runs a property on the same examples every time: texts exist that can be read in two ways, and a search for
// them is for the fuzz targets and for -rapid.seed, not for every build.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		musttest.Do(t, seed.Value.Set("20261121"))
	}
	rapid.Check(t, property)
}

func TestOneMistakeChangesNoValueAroundIt(t *testing.T) {
	check(t, func(t *rapid.T) {
		before := encode(t, rapid.MapOfN(text(1), value(2), 1, 4).Draw(t, "before"))
		after := encode(t, rapid.MapOfN(text(1), value(2), 1, 4).Draw(t, "after"))
		mistake := rapid.SampledFrom([]struct{ text, want string }{
			{`"m": 1,,`, `"m":1,`},
			{`m: 1,`, `"m":1,`},
			{`'m': 1,`, `"m":1,`},
			{`“m”：1，`, `"m":1,`},
			{`"m": True,`, `"m":true,`},
			{`"m": 'x',`, `"m":"x",`},
			{`"m": 1, // note` + "\n", `"m":1,`},
			{`"m": 007,`, `"m":7,`},
			{`"m": [1, 2,],`, `"m":[1,2],`},
			{`"m": {"n": 1,},`, `"m":{"n":1},`},
			{`"m": "a` + "\n" + `b",`, `"m":"a\nb",`},
			{`"m": "\d",`, `"m":"\\d",`},
			{`"m": 1` + "\n", `"m":1,`},
			{"\ufeff\"m\": 1,", `"m":1,`},
			{`"m" 1,`, `"m":1,`},
			{`"m": "a "b" c",`, `"m":"a \"b\" c",`},
		}).Draw(t, "mistake")
		source := strings.TrimSuffix(before, "}") + ", " + mistake.text + strings.TrimPrefix(after, "{")
		want := strings.TrimSuffix(compacted(t, before), "}") + "," + mistake.want + strings.TrimPrefix(compacted(t, after), "{")
		got, notes, err := Read(source, Options{})
		if err != nil || string(got) != want {
			t.Fatalf("read %s\n got %s\nwant %s\nnotes %v, error %v", source, got, want, notes, err)
		}
	})
}

func TestAnyFrameChangesNoValidObject(t *testing.T) {
	check(t, func(t *rapid.T) {
		object := encode(t, rapid.MapOfN(text(1), value(3), 1, 4).Draw(t, "object"))
		frames := [][2]string{
			{"```json\n", "\n```"},
			{"```\n", "\n```\n"},
			{"<think>{\"no\": [}</think>", ""},
			{"<d>", "</d>"},
			{"Here: ", " Done."},
			{"结果：", "。"},
			{"x = ", ";"},
			{"f(", ")"},
			{"I think {no}.</think>\n", ""},
			{"\ufeff", "\n"},
		}
		frame := frames[rapid.IntRange(0, len(frames)-1).Draw(t, "frame")]
		got, notes, err := Read(frame[0]+object+frame[1], Options{Tags: []string{"d"}})
		if err != nil || string(got) != compacted(t, object) || len(notes) > 0 {
			t.Fatalf("read %s\n got %s\nnotes %v, error %v", frame[0]+object+frame[1], got, notes, err)
		}
	})
}

func TestACutValueIsAPrefixOfTheWholeOne(t *testing.T) {
	check(t, func(t *rapid.T) {
		list := encode(t, rapid.SliceOfN(rapid.MapOfN(text(1), value(1), 1, 3), 1, 4).Draw(t, "list"))
		at := rapid.IntRange(1, len(list)-1).Draw(t, "at")
		got, _, err := Read(list[:at], Options{})
		var part, whole []json.RawMessage
		if json.Unmarshal(got, &part) != nil || json.Unmarshal([]byte(compacted(t, list)), &whole) != nil || len(part) > len(whole) {
			t.Fatalf("read %s\n got %s, error %v", list[:at], got, err)
		}
		if n := len(part) - 1; n > 0 && !slices.EqualFunc(part[:n], whole[:n], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("read %s\n got %s\n out of %s", list[:at], got, list)
		}
	})
}
