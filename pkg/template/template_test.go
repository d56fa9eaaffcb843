package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	standard "text/template"
	"time"

	"github.com/jobgraph/jobgraph/pkg/template"
)

// thing is data of every kind that a template may use.
type thing struct {
	Name    string
	Count   int
	Small   uint8
	Share   float64
	Is      bool
	Words   []string
	Things  []thing
	Below   *thing
	Table   map[string]any
	Numbers map[int]string
	Any     any
	Waits   time.Duration
	hidden  string
}

func sample() thing {
	return thing{
		Name: "one <b>", Count: 3, Small: 7, Share: 0.5, Is: true, Words: []string{"x", "y", "z"}, Things: []thing{{Name: "inner"}, {Is: true, Words: []string{"w"}}},
		Below: &thing{Name: "below", Count: -1}, Table: map[string]any{"b": 2, "a": "A", "nil": nil, "list": []any{1, "two"}}, Numbers: map[int]string{10: "ten", 9: "nine"},
		Any: []int{4, 5}, Waits: time.Second, hidden: "hidden",
	}
}

// oracle returns the result of text/template.
func oracle(text string, data any) (string, error) {
	t, err := standard.New("t").Funcs(standard.FuncMap{"join": strings.Join}).Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, data)
	return out.String(), err
}

func ours(text string, data any) (string, error) {
	t, err := template.Parse("t", text)
	if err != nil {
		return "", err
	}
	return t.Execute("t", data)
}

var texts = []string{
	"", "plain", "{{.}}", "{{.Name}} {{.Count}} {{.Small}} {{.Share}} {{.Is}} {{.Waits}}", "{{.Words}}{{.Below.Name}}{{.Below.Below}}{{.Any}}",
	"{{if .Is}}yes{{else}}no{{end}}{{if .Below.Below}}a{{else if .Count}}b{{else}}c{{end}}{{if not .Is}}x{{end}}", "{{- if .Words -}} a {{- end -}} b",
	"{{range .Words}}{{.}},{{end}}{{range .Below.Words}}x{{else}}none{{end}}", "{{range $i, $w := .Words}}{{if $i}}, {{end}}{{$i}}{{$w}}{{end}}{{range $w := .Words}}{{$w}}{{end}}",
	"{{range .Things}}{{.Name}}{{$.Name}}{{range .Words}}{{.}}{{end}}{{end}}", "{{range .Words}}{{if eq . \"y\"}}{{continue}}{{end}}{{.}}{{end}}",
	"{{range .Words}}{{if eq . \"y\"}}{{break}}{{end}}{{.}}{{end}}!", "{{range $k, $v := .Table}}{{$k}}={{$v}};{{end}}{{range .Numbers}}{{.}}{{end}}", "{{range .Count}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}",
	"{{with .Below}}{{.Name}}{{else}}none{{end}}{{with .Below.Below}}x{{else with .Name}}{{.}}{{end}}", "{{$x := 1}}{{if .Is}}{{$x = 2}}{{$x}}{{$y := 3}}{{$y}}{{end}}{{$x}}",
	"{{$x := .Below}}{{$x.Name}}{{with $y := .Count}}{{$y}}{{.}}{{end}}", "{{define \"a\"}}<{{.}}>{{end}}{{template \"a\" .Name}}{{template \"a\"}}{{template \"a\" $.Count}}",
	"{{block \"b\" .Words}}{{len .}}{{end}}", "{{define \"r\"}}{{range .}}{{.}}{{break}}{{end}}{{end}}{{template \"r\" .Words}}", "{{len .Name}} {{len .Table}} {{index .Words 1}} {{index .Table \"b\"}} {{(index .Things 1).Is}} {{index .Things 1 | printf \"%T\"}}",
	"{{slice .Words 1}}{{slice .Words 1 2}}{{slice .Name 0 3}}{{slice .Words 0 1 2}}{{index .Any 1}}{{index .Table \"list\" 1}}{{index .Numbers 9}}{{index .Numbers 1}}",
	"{{eq .Count 3}}{{eq .Count 1 2 3}}{{ne .Name \"x\"}}{{lt .Count 4}}{{le .Small 7}}{{gt .Share 0.1}}{{ge .Name \"a\"}}{{eq .Small 7}}{{lt .Below.Count .Small}}{{gt .Small .Below.Count}}",
	"{{and .Is .Name}}{{and 0 .Missing}}{{or .Below.Name .Missing}}{{or 0 \"\"}}{{not 1}}{{and .Is (not .Words)}}{{eq .Is true}}{{eq nil .Below.Below}}{{eq .Any nil}}",
	"{{print 1 \"a\" .Is}}{{println .Name}}{{printf \"%q %d %v\" .Name .Count nil}}{{.Name | printf \"%s-%s\" \"a\"}}{{.Name | html | print}}{{js .Name}}{{urlquery .Name}}",
	"{{join .Words \", \"}}{{.Words | len}}{{\"quoted\"}}{{`raw`}}{{'a'}}{{1.5}}{{1e3}}{{0x1F}}{{1i}}{{true}}{{-4}}{{.Table.a}}{{.Table.b}}{{(print .Name).Missing}}", "{{/* comment */}}{{- /* x */ -}} a", "{{.Table.nil}}{{.Table.list}}",
	// Templates with errors.
	"{{.Missing}}", "{{.Table.missing}}", "{{.hidden}}", "{{.Name.First}}", "{{.Below.Below.Name}}", "{{index .Words 3}}", "{{index .Words \"x\"}}", "{{index .Table 1}}", "{{index .Count 1}}", "{{len 3}}", "{{len nil}}",
	"{{template \"none\"}}", "{{nil}}", "{{1 2}}", "{{.Name 1}}", "{{.Name | .Count}}", "{{lt .Is true}}", "{{lt 1 \"a\"}}", "{{eq 1 \"a\"}}", "{{eq .Words .Words}}", "{{eq .Is 1}}", "{{not}}", "{{not 1 2}}", "{{eq 1}}", "{{printf}}", "{{printf 1}}", "{{join 1 2}}", "{{join .Words 1}}",
	"{{range .Name}}x{{end}}", "{{range .Share}}{{end}}", "{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}", "{{slice .Words 2 1}}", "{{slice .Count}}", "{{slice .Words 9}}", "{{slice .Name 0 1 2}}", "{{$x}}", "{{", "{{if}}", "{{unknown}}", "{{end}}", "{{break}}", "{{.Small | index .Words}}", "{{index nil 1}}", "{{slice nil}}",
	"{{99999999999999999999}}", "{{lt .Words 1}}", "{{lt nil 1}}", "{{range $i, $j := 3}}{{end}}", "{{range 1.5}}{{end}}", "{{eq .Below .Below}}{{eq .Waits 1000000000}}",
}

func TestTheLanguageIsThatOfTheStandardLibrary(t *testing.T) {
	for _, text := range texts {
		for name, data := range map[string]any{"a struct": sample(), "a pointer": new(sample()), "nil": nil, "a map": map[string]any{"Name": "n", "Words": []string{"w"}, "Is": false}} {
			want, wantErr := oracle(text, data)
			got, err := ours(text, data)
			if (err == nil) != (wantErr == nil) || err == nil && got != want {
				t.Errorf("%q of %s: got %q, %v; text/template has %q, %v", text, name, got, err, want, wantErr)
			}
		}
	}
}

// The package leaves methods out on purpose.
func TestMethodsAndCallsAreNotThere(t *testing.T) {
	for text, said := range map[string]string{
		"{{.Waits.Seconds}}": `template: t:1:8: at <.Waits.Seconds>: a value of type time.Duration has no field Seconds`,
		"{{call .Name}}":     `template: t:1: function "call" not defined`,
	} {
		if _, err := ours(text, sample()); err == nil || err.Error() != said {
			t.Errorf("%s: %v, want %s", text, err, said)
		}
	}
}

type sized []string

func (s sized) Compute(name string) (any, bool) { return len(s), name == "Size" }

func TestDataComputesWhatIsNoField(t *testing.T) {
	if got, err := ours("{{.Size}} {{range .Size}}x{{end}}", sized{"a", "b"}); err != nil || got != "2 xx" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ours("{{.Weight}}", sized{}); err == nil || !strings.Contains(err.Error(), "template_test.sized has no field Weight") {
		t.Error(err)
	}
}

func TestTemplatesAreAddedToASet(t *testing.T) {
	set, err := template.Parse("a", `{{define "x"}}first{{end}}{{define "y"}}kept{{end}}`)
	if err == nil {
		err = set.Add("b", `{{define "x"}}second{{end}}{{define "y"}} {{end}}{{template "x"}}`)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, name := range []string{"x", "y", "b"} {
		text, err := set.Execute(name, nil)
		if err != nil || !set.Has(name) {
			t.Fatal(err, name)
		}
		said = append(said, text)
	}
	if !slices.Equal(said, []string{"second", "kept", "second"}) {
		t.Errorf("%q", said)
	}
	if _, err := set.Execute("z", nil); err == nil || set.Has("z") || !strings.Contains(err.Error(), `no template "z"`) {
		t.Errorf("a template that is not there: %v", err)
	}
}

func FuzzTheLanguageIsThatOfTheStandardLibrary(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// It does not support ranges over texts, functions and huge numbers, nor methods, as shown above.
		if strings.Contains(text, "call") || strings.Contains(text, "range") && strings.ContainsAny(text, "0123456789") || strings.Contains(text, "Waits") {
			return
		}
		data := sample()
		want, wantErr := oracle(text, data)
		got, err := ours(text, data)
		if err == nil && (wantErr != nil || got != want) {
			t.Errorf("%q: got %q; text/template has %q, %v", text, got, want, wantErr)
		}
		if err != nil && wantErr == nil {
			t.Errorf("%q: %v; text/template has %q", text, err, want)
		}
	})
}

func Example() {
	t, err := template.Parse("greeting", `Hello{{range .}}, {{.}}{{end}}!`)
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Execute("greeting", []string{"ada", "bob"}))
	// Output: Hello, ada, bob! <nil>
}
