package lenient

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// megabyte is the size at which time is measured.
const megabyte = 1 << 20

// repeated is a text of a size that is nothing but a pattern.
func repeated(pattern string, size int) string { return strings.Repeat(pattern, size/len(pattern)) }

func TestReadTakesABoundedNumberOfStepsPerByte(t *testing.T) {
	worst, at := 0.0, ""
	for _, frame := range []struct{ head, tail string }{
		{"", ""},
		{`{"a": "`, `"}`},
		{`{"a": [`, `]}`},
		{"{a: ", "}"},
		{"[[", "]]"},
		{"```json\n", "\n```"},
		{"<t>", "</t>"},
		{"<think>", "</think>{}"},
		{`"`, `"`},
		{`{'a': '`, `'}`},
		{`{“a”: “`, `”}`},
		{`{\"a\": \"`, `\"}`},
	} {
		for _, pattern := range patterns() {
			for _, size := range []int{1 << 10, 1 << 13} {
				text := frame.head + repeated(pattern, size) + frame.tail
				_, steps, _ := read(text, Options{Tags: []string{"t"}}.filled())
				perByte := float64(steps) / float64(len(text)+1)
				if perByte > worst {
					worst, at = perByte, fmt.Sprintf("%q %q at %d", frame.head, pattern, size)
				}
			}
		}
	}
	t.Logf("worst: %.1f steps per byte, %s", worst, at)
	if worst > maxSteps {
		t.Errorf("%.1f steps per byte, at most %d: %s", worst, maxSteps, at)
	}
}

func TestReadTakesAsManyStepsPerByteForLongTextsAsForShortOnes(t *testing.T) {
	for _, pattern := range patterns() {
		for _, head := range []string{"", `{"a": "`, `{"a": [`, "{a: ", "```json\n"} {
			count := func(size int) int {
				_, steps, _ := read(head+repeated(pattern, size), Options{}.filled())
				return steps
			}
			if short, long := count(1<<10), count(1<<14); long > 32*short+1<<14 {
				t.Errorf("%q and 1 KiB of %q: %d steps, 16 times as much: %d", head, pattern, short, long)
			}
		}
	}
}

func TestReadRefusesWhatIsTooLargeOrTooDeepWithItsOwnError(t *testing.T) {
	if _, _, err := Read(strings.Repeat(" ", 11)+"{}", Options{MaxBytes: 12}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("13 bytes of 12: %v", err)
	}
	if _, _, err := Read(strings.Repeat(" ", 10)+"{}", Options{MaxBytes: 12}); err != nil {
		t.Errorf("12 bytes of 12: %v", err)
	}
	for _, depth := range []int{3, DefaultMaxDepth, MaxMaxDepth} {
		fits := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if _, _, err := Read(fits, Options{MaxDepth: depth}); err != nil {
			t.Errorf("depth %d of %d: %v", depth, depth, err)
		}
		for _, text := range []string{"[" + fits + "]", "see " + "[" + fits + "]", "[1," + fits + "]", strings.Repeat(`{"a":`, depth+1)} {
			if _, _, err := Read(text, Options{MaxDepth: depth}); !errors.Is(err, ErrTooDeep) {
				t.Errorf("%.20q… deeper than %d: %v", text, depth, err)
			}
		}
	}
}

func TestNotesStayBoundedAndCountEverything(t *testing.T) {
	const times = 5000
	value, notes, err := Read("["+strings.Repeat("True, 'x',, ", times)+"1]", Options{})
	if err != nil || len(value) == 0 {
		t.Fatal(err)
	}
	counts := map[Kind]int{}
	for _, note := range notes {
		counts[note.Kind] += note.Count
	}
	if len(notes) > maxNotes+10 || counts[Literal] != times || counts[Quote] != times || counts[ExtraComma] != times {
		t.Errorf("%d notes, counts %v", len(notes), counts)
	}
}

func TestReadAllKeepsTheLastValuesOfATextOfNothingElse(t *testing.T) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, `{"i":%d}`, i)
	}
	found, err := ReadAll(text.String(), Options{})
	if err != nil || len(found) < maxValues || len(found) > 2*maxValues || string(found[len(found)-1].JSON) != `{"i":19999}` {
		t.Errorf("%d values, %v", len(found), err)
	}
}

func TestExamineTakesABoundedNumberOfStepsPerByte(t *testing.T) {
	broken := []string{"，<t>{```[{\"a\":", "]}[{\"a\":~", "</t>[{\"a\":X\"\\"} // Many values, each with a mistake.
	for _, head := range []string{"", `{"a": "`, `{"a": [`, "{a: ", "```json\n", `{"b": [{"c": `} {
		for _, pattern := range append(patterns(), broken...) {
			for _, size := range []int{1 << 10, 1 << 14} {
				o := Options{Shape: shapes[1]}.filled()
				o.examine = true
				text := head + repeated(pattern, size)
				_, steps, _ := read(text, o)
				if limit := (maxSteps+2*maxWork)*(len(text)+1) + 8*lookAhead; steps > limit {
					t.Errorf("%q and %d bytes of %q: %d steps, at most %d", head, size, pattern, steps, limit)
				}
			}
		}
	}
}

// BenchmarkExamine measures 10 MB of texts with mistakes; the goal is under 1.5 s each.
func BenchmarkExamine(b *testing.B) {
	const good = `{"title": "统计，汇总", "description": "Count \"all\" of it", "n": 12},`
	for _, c := range []struct{ name, bad string }{
		{"no comma", `{"title": "a" "description": "b", "n": 12},`},
		{"no quote", `{"title": "a, "description": "b", "n": 12},`},
		{"inner quotes", `{"title": "say "a" b", "description": "b", "n": 12},`},
		{"no brace", `{"title": "a", "description": "b", "n": 12,`},
		{"comments", `{"title": "a", /* x */ "description": "b", "n": 12}, // "y"` + "\n"},
	} {
		for _, part := range []string{c.bad, strings.Repeat(good, 100) + c.bad} {
			text := `{"steps": [` + repeated(part, 10*megabyte) + `{}]}`
			b.Run(fmt.Sprintf("%s, one in %d", c.name, 1+len(part)/len(good)), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_, _ = Examine(text, Options{MaxBytes: len(text)})
				}
			})
		}
	}
}

// BenchmarkRead measures 1 MB of each pattern; the goal is under 50 ms each.
func BenchmarkRead(b *testing.B) {
	plan := `{"title": "盘点库存", "steps": [` + strings.Repeat(`{"title": "统计，汇总", "description": "Count \"all\" of it", "n": 12},`, 8000) + `{}]}`
	texts := []struct{ name, text string }{{"valid", plan}, {"repaired", strings.ReplaceAll(plan, `"n"`, "n")}}
	for _, pattern := range patterns() {
		texts = append(texts, struct{ name, text string }{fmt.Sprintf("%q", pattern), repeated(pattern, megabyte)})
	}
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				_, _, _ = Read(c.text, Options{})
			}
		})
	}
}
