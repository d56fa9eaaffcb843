package host_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

type model struct {
	URL         string            `yaml:"url"`
	Key         string            `yaml:"key"`
	Temperature float64           `yaml:"temperature"`
	Timeout     time.Duration     `yaml:"timeout"`
	Tokens      *int              `yaml:"tokens"`
	Headers     map[string]string `yaml:"headers"`
	Tags        []string          `yaml:"tags"`
	Extra       any               `yaml:"extra"`
}

type config struct {
	Models map[string]model `yaml:"models"`
	Tools  host.Skip        `yaml:"tools"`
	Strict bool             `yaml:"strict"`
	Judge  func() error     `yaml:"-"`
}

func (c *config) Validate() error {
	if c.Judge == nil {
		return nil
	}
	return c.Judge()
}

func read(t *testing.T, text string, vars map[string]string) (config, error) {
	t.Helper()
	var c config
	err := host.ReadYAML(musttest.Temp(t, "jobgraph.yaml", text), environment(vars), &c)
	return c, err
}

func TestReferencesAreExpandedByTheTypeTheyStandFor(t *testing.T) {
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "key.txt"), "k: [1\n")
	text := `version: 1
settings: {log-level: debug}
tools: {t: "${NOT_SET}"}
strict: ${STRICT}
models:
  m: &m
    url: https://${HOST:-localhost}:${PORT}/v1
    key: ${file:key.txt}
    temperature: ${TEMP:-0.5}
    timeout: 90s
    tokens: ${TOKENS}
    headers: {a: "${NUMBER}", b: '$${NUMBER} costs $5', c: x}
    tags: [x, "${NOTHING}"]
    extra: {n: [1, "${NUMBER}"]}
  n:
    <<: *m
    url: ${NUMBER}
`
	path := filepath.Join(dir, "jobgraph.yaml")
	musttest.Write(t, path, text)
	var c config
	err := host.ReadYAML(path, environment(map[string]string{
		"STRICT": "true", "PORT": "8080", "TOKENS": "12", "NUMBER": "007", "NOTHING": "null",
	}), &c)
	same(t, nil, err)
	tokens := 12
	m := model{
		URL: "https://localhost:8080/v1", Key: "k: [1", Temperature: 0.5, Timeout: 90 * time.Second, Tokens: &tokens,
		Headers: map[string]string{"a": "007", "b": "${NUMBER} costs $5", "c": "x"}, Tags: []string{"x", "null"},
		Extra: map[string]any{"n": []any{1, "007"}},
	}
	n := m
	n.URL = "007"
	same(t, map[string]model{"m": m, "n": n}, c.Models)
	same(t, true, c.Strict)
}

func TestEveryFaultOfAFileIsReportedWithItsPlace(t *testing.T) {
	_, err := read(t, `version: 2
strikt: true
models:
  a:
    url: ${HOST}/x/${HÖST}
    temperature: hot
    timeout: "5"
    tokens: ${TOKEN}
    url: again
    tags: one
    headers: [a]
    extra: {k: 1, k: 2}
    key: ${file:none}
  b: text
  c: {key: "ä ${OPEN"}
strict: [1]
`, map[string]string{"TOKEN": "s3cret"})
	all := lines(t, err)
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], ": open ")
	}
	same(t, []string{
		"jobgraph.yaml:1:10: version: version 2 is unknown to this program (write version: 1)",
		`jobgraph.yaml:2:1: strikt: unknown key (did you mean "strict"?)`,
		"jobgraph.yaml:5:10: models.a.url: the variable HOST is not set (set HOST, or give a default: ${HOST:-default})",
		"jobgraph.yaml:5:20: models.a.url: ${HÖST} is no reference (write ${NAME}, ${NAME:-default} or ${file:PATH}, or $${ for a literal ${)",
		`jobgraph.yaml:6:18: models.a.temperature: "hot" is not a number`,
		`jobgraph.yaml:7:14: models.a.timeout: "5" is not a duration such as 1m30s`,
		`jobgraph.yaml:8:13: models.a.tokens: "${TOKEN}" is not a whole number`,
		"jobgraph.yaml:9:5: models.a.url: the key is already on line 5 (keep one of the two)",
		"jobgraph.yaml:10:11: models.a.tags: \"one\" is not a list",
		"jobgraph.yaml:11:14: models.a.headers: is a list, expected keys and values",
		"jobgraph.yaml:12:19: models.a.extra.k: the key is already on line 12 (keep one of the two)",
		"jobgraph.yaml:13:10: models.a.key: the file of ${file:none} cannot be read",
		"jobgraph.yaml:14:6: models.b: \"text\" is not keys and values",
		"jobgraph.yaml:15:15: models.c.key: ${ is not closed (add a }, or write $${ for a literal ${)",
		"jobgraph.yaml:16:9: strict: is a list, expected true or false",
	}, all)
}

// A fraction is not an integer, though 1e3 is one.
func TestAWholeNumberIsNotCut(t *testing.T) {
	for text, want := range map[string]int{"1e3": 1000, "2.0": 2, "1_000": 1000} {
		c, err := read(t, "version: 1\nmodels: {a: {tokens: "+text+"}}\n", nil)
		if got := c.Models["a"].Tokens; err != nil || got == nil || *got != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"1.5", "0.999", "-1e30", "1e30", ".nan", ".inf"} {
		_, err := read(t, "version: 1\nmodels: {a: {tokens: "+text+"}}\n", nil)
		same(t, []string{fmt.Sprintf("jobgraph.yaml:2:22: models.a.tokens: %q is not a whole number", text)}, lines(t, err))
	}
}

// judged finds faults of meaning.
type judged struct {
	Models map[string]model `yaml:"models"`
}

func (j *judged) Validate() error {
	var list host.Faults
	for _, name := range slices.Sorted(maps.Keys(j.Models)) {
		m := j.Models[name]
		if m.Temperature > 2 {
			list = append(list, host.Fault{Code: events.CodeInvalid, Field: "models." + name + ".temperature", Message: fmt.Sprintf("%v is above 2", m.Temperature)})
		}
		if m.Timeout == 0 {
			list = append(list, host.Fault{Code: events.CodeMissing, Field: "models." + name + ".timeout", Message: "is missing"})
		}
		if len(m.Tags) > 0 && len(j.Models[m.Tags[0]].Tags) == 0 {
			list = append(list, host.Fault{Code: events.CodeInvalid, Field: "models." + name + ".tags[0]", Message: "there is no such model"})
		}
	}
	return list.Err()
}

func TestFaultsOfFormAndOfMeaningComeTogether(t *testing.T) {
	found := func(text string) []string {
		t.Helper()
		return lines(t, host.ReadYAML(musttest.Temp(t, "jobgraph.yaml", text), environment(nil), &judged{}))
	}
	same(t, []string{ // References to an unreadable section are not checked.
		"jobgraph.yaml:3:6: models.a: is a list, expected keys and values",
	}, found("version: 1\nmodels:\n  a: [1]\n  b: {timeout: 5s, tags: [a]}\n"))
	got := found("version: 2\nmodels:\n  a:\n    timeout: 5\n    temperature: 9\n  b:\n    url: ${GONE}\n    temperature: 8\n")
	same(t, []string{
		"jobgraph.yaml:1:10: version: version 2 is unknown to this program (write version: 1)",
		`jobgraph.yaml:4:14: models.a.timeout: "5" is not a duration such as 1m30s`,
		"jobgraph.yaml:5:18: models.a.temperature: 9 is above 2",
		"jobgraph.yaml:7:5: models.b.timeout: is missing",
		"jobgraph.yaml:7:10: models.b.url: the variable GONE is not set (set GONE, or give a default: ${GONE:-default})",
		"jobgraph.yaml:8:18: models.b.temperature: 8 is above 2",
	}, got)
}

func TestReferencesInBlocksHaveTheirOwnPlace(t *testing.T) {
	_, err := read(t, "version: 1\nmodels:\n  a:\n    url: |\n      one\n      two ${A} ${A}\n    key: >-\n      x\n      ${B}\n", nil)
	var places [][2]int
	for _, fault := range faults(t, err) {
		places = append(places, [2]int{fault.Line, fault.Column})
	}
	same(t, [][2]int{{6, 11}, {6, 16}, {9, 7}}, places)
}

func TestTextThatIsNoDocumentIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "jobgraph.yaml: there is nothing in it",
		"# only this\n":          "jobgraph.yaml: there is nothing in it",
		"- a\n":                  "jobgraph.yaml:1:1: is a list, expected keys and values",
		"version: 1\n a: [\n":    "jobgraph.yaml:2: this is not YAML",
		"strict: true\n":         "jobgraph.yaml:1:1: version: the version is missing",
		"version: 1\n---\na: 1":  "jobgraph.yaml:2:1: a second document begins",
		"version: 1\nmodels: \t": "",
		"version: one\n":         "jobgraph.yaml:1:10: version: version one is unknown",
	} {
		_, err := read(t, text, nil)
		got := ""
		if all := lines(t, err); len(all) > 0 {
			got = all[0]
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	var c config
	if err := host.ReadYAML(filepath.Join(t.TempDir(), "none.yaml"), nil, &c); len(faults(t, err)) != 1 {
		t.Errorf("a missing file gives %v", err)
	}
}

func TestAFaultFoundAfterDecodingGetsThePlaceOfItsField(t *testing.T) {
	c := config{Judge: func() error {
		return errors.Join(host.Faults{
			{Code: "x", Field: "models.a.tags[1]", Message: "unknown tag"},
			{Code: "x", Field: "models.a.key", Message: "is missing"},
		})
	}}
	err := host.ReadYAML(musttest.Temp(t, "jobgraph.yaml", "version: 1\nmodels:\n  a:\n    tags: [x, y]\n"), nil, &c)
	same(t, []string{
		"jobgraph.yaml:4:5: models.a.key: is missing",
		"jobgraph.yaml:4:15: models.a.tags[1]: unknown tag",
	}, lines(t, err))
	if c.Models != nil {
		t.Error("a file with faults was stored")
	}
}

func TestAliasesDoNotMultiplyTheWork(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nmodels:\n  a:\n    extra:\n      - &a0 [x, x]\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "      - &a%d [*a%d, *a%d]\n", i, i-1, i-1)
	}
	_, err := read(t, b.String(), nil)
	if err == nil || !strings.Contains(err.Error(), "excessive aliasing") {
		t.Fatalf("an alias bomb gives %v", err)
	}
}

func TestFrontMatterKeepsLinesAndBody(t *testing.T) {
	type card struct {
		Name string `yaml:"name"`
		Kind string `yaml:"kind"`
	}
	var c card
	path := musttest.Temp(t, "writer.md", "\ufeff---\r\nname: Writer\r\nkind: ${KIND:-llm}\r\n---\r\n\r\nUse ${THIS} as it is.\r\n---\r\nend\r\n")
	body, _, err := host.OpenFrontMatter(path, environment(nil), &c)
	same(t, nil, err)
	same(t, card{Name: "Writer", Kind: "llm"}, c)
	same(t, "Use ${THIS} as it is.\n---\nend", body)

	_, _, err = host.OpenFrontMatter(musttest.Temp(t, "x.md", "---\nname: [a]\ncolor: red\n---\n"), nil, &c)
	same(t, []string{
		"x.md:2:7: name: is a list, expected a text",
		"x.md:3:1: color: unknown key (known keys: kind, name)",
	}, lines(t, err))
	for _, text := range []string{"", "no front", "---\nname: a\n", "---\n---\nbody"} {
		if _, _, err := host.OpenFrontMatter(musttest.Temp(t, "x.md", text), nil, &c); len(faults(t, err)) != 1 {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

func FuzzReadYAML(f *testing.F) {
	for _, seed := range []string{
		"version: 1\nmodels: {a: {url: '${A}'}}", "version: 1\nmodels: &a {b: *a}", "version: 1\n<<: [x]", "a: ${", "? [a]\n: b",
		"version: 1\nmodels:\n  <<: [{a: 1}]\n", "version: 1\nmodels: {a: {extra: {<<: 1}}}", "version: !!binary x",
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "jobgraph.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		musttest.Write(t, path, text)
		var c config
		err := host.ReadYAML(path, environment(map[string]string{"A": "1"}), &c)
		var all host.Faults
		if err != nil && !errors.As(err, &all) {
			t.Fatalf("%v is no Faults", err)
		}
	})
}

type choice struct {
	Items []host.Brief[model] `yaml:"items"`
	Item  host.Brief[model]   `yaml:"item"`
}

func TestAValueMayBeATextOrInFull(t *testing.T) {
	path := musttest.Temp(t, "jobgraph.yaml", `version: 1
items: [a, {url: "${B}"}, &x {key: c}, *x, ""]
`)
	var c choice
	err := host.ReadYAML(path, environment(map[string]string{"B": "b"}), &c)
	same(t, nil, err)
	full := host.Brief[model]{Full: &model{Key: "c"}}
	same(t, []host.Brief[model]{{Text: "a"}, {Full: &model{URL: "b"}}, full, full, {}}, c.Items)
}

func TestFaultsOfAValueInFullHaveTheirPlaces(t *testing.T) {
	path := musttest.Temp(t, "jobgraph.yaml", "version: 1\nitems:\n- {urll: a}\n-\n- [a]\n- {timeout: soon, url: \"${NONE}\"}\nitem: ~\n")
	var c choice
	err := host.ReadYAML(path, environment(nil), &c)
	want := []string{
		`jobgraph.yaml:3:4: items[0].urll: unknown key (did you mean "url"?)`,
		"jobgraph.yaml:4:2: items[1]: is empty, expected a text, or keys and values",
		"jobgraph.yaml:5:3: items[2]: is a list, expected keys and values",
		`jobgraph.yaml:6:13: items[3].timeout: "soon" is not a duration such as 1m30s`,
		"jobgraph.yaml:6:25: items[3].url: the variable NONE is not set (set NONE, or give a default: ${NONE:-default})",
		"jobgraph.yaml:7:7: item: is empty, expected a text, or keys and values",
	}
	same(t, want, lines(t, err))
}

func TestAFaultThatIsFoundLaterHasItsPlace(t *testing.T) {
	path := musttest.Temp(t, "card.md", "---\nname: a\nkeys:\n  - b\n---\nText.\n")
	var out struct {
		Name string   `yaml:"name"`
		Keys []string `yaml:"keys"`
	}
	_, file, err := host.OpenFrontMatter(path, environment(nil), &out)
	same(t, nil, err)
	for field, want := range map[string]string{"keys[0].c": "4:5", "keys[1]": "4:3", "name": "2:7", "none": "2:1"} {
		got := file.Placed(host.Fault{Field: field})
		same(t, want, fmt.Sprintf("%d:%d", got.Line, got.Column))
		same(t, path, got.File)
	}
}
