package lenient

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// reading is one case of the corpus: a text, what to look for, and what has to be found.
//
// In testdata/*.txt a case is "=== name", with options in square brackets after the name, the text line by line, and "--- " with
// the wanted value; if an error is wanted, "cut", "no fit", "no JSON" and so on precede it. With the option quoted the text is a Go
// string; tags=a,b and fits=object or fits=array are the options of Read.
type reading struct {
	name, text, want string
	err              error
	options          Options
}

// failures are the words for errors in the corpus.
var failures = map[string]error{"cut": ErrTruncated, "no fit": ErrNoFit, "no JSON": ErrNoJSON, "too deep": ErrTooDeep}

// corpus reads all cases.
func corpus(tb testing.TB) []reading {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("find the corpus: %v, %d files", err, len(files))
	}
	var cases []reading
	for _, file := range files {
		content := musttest.Read(tb, file)
		class := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, block := range strings.Split("\n"+string(content), "\n=== ")[1:] {
			cases = append(cases, parseCase(tb, class, block))
		}
	}
	return cases
}

// parseCase reads one case.
func parseCase(tb testing.TB, class, block string) reading {
	tb.Helper()
	head, body, _ := strings.Cut(block, "\n")
	text, want, ok := strings.Cut("\n"+body, "\n--- ")
	if !ok {
		tb.Fatalf("%s: %s: no wanted value", class, head)
	}
	c := reading{text: strings.TrimPrefix(text, "\n"), want: strings.TrimSpace(want)}
	for word, err := range failures {
		if c.want == word || strings.HasPrefix(c.want, word+" ") {
			c.err, c.want = err, strings.TrimSpace(c.want[len(word):])
		}
	}
	name, options, _ := strings.Cut(strings.TrimSuffix(head, "]"), " [")
	c.name = class + "/" + name
	for _, option := range strings.Fields(options) {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "quoted":
			var err error
			if c.text, err = strconv.Unquote(c.text); err != nil {
				tb.Fatalf("%s: %v: %s", c.name, err, c.text)
			}
		case "tags":
			c.options.Tags = strings.Split(value, ",")
		case "fits":
			c.options.Fits = Object
			if value == "array" {
				c.options.Fits = Array
			}
		default:
			tb.Fatalf("%s: unknown option %q", c.name, option)
		}
	}
	return c
}

// proves C-T4
// proves F-T8
// proves F-weakness-issue-99
func TestReadFindsTheJSONOfEveryCaseOfTheCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			got, notes, err := Read(c.text, c.options)
			if !errors.Is(err, c.err) || !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("read %q\n got %s, error %v\nwant %s, error %v\nnotes %v", c.text, got, err, c.want, c.err, notes)
			}
		})
	}
}

func TestTheCorpusHasEnoughCasesOfEveryClassInTwoLanguages(t *testing.T) {
	classes, names, chinese := map[string]int{}, map[string]bool{}, 0
	cases := corpus(t)
	for _, c := range cases {
		classes[strings.SplitN(c.name, "/", 2)[0]]++
		if names[c.name] {
			t.Errorf("%s: two cases of this name", c.name)
		}
		names[c.name] = true
		if strings.ContainsFunc(c.text, func(r rune) bool { return r >= 0x4e00 && r < 0xa000 }) {
			chinese++
		}
	}
	if len(cases) < 300 || chinese < 60 {
		t.Errorf("%d cases, %d of them with Chinese text; at least 300 and 60", len(cases), chinese)
	}
	wanted := []string{
		"comma", "comment", "cut", "encoding", "escape", "fence", "inner-quote", "key", "literal", "none", "number", "payload",
		"piece", "prose", "quote", "several", "structure", "tag", "think", "valid", "wrapped",
	}
	for _, class := range wanted {
		if classes[class] < 5 {
			t.Errorf("%d cases of class %s, at least 5", classes[class], class)
		}
	}
	for class := range classes {
		if !slices.Contains(wanted, class) {
			t.Errorf("class %s is not listed", class)
		}
	}
}

func TestReadNeverFailsDifferentlyForBytes(t *testing.T) {
	for _, c := range corpus(t) {
		fromText, notes, err := Read(c.text, c.options)
		fromBytes, same, sameErr := Read([]byte(c.text), c.options)
		if !bytes.Equal(fromText, fromBytes) || !slices.Equal(notes, same) || !errors.Is(sameErr, err) {
			t.Errorf("%s: %s and %s, %v and %v", c.name, fromText, fromBytes, err, sameErr)
		}
	}
}

func TestReadSurvivesACutAtEveryByte(t *testing.T) {
	for _, c := range corpus(t) {
		for i := range c.text {
			checkAny(t, c.text[:i])
			checkAny(t, c.text[i:])
		}
	}
}
