package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// index matches an index within the path of a field.
var index = regexp.MustCompile(`\[\d+\]|^subtask_\d+`)

// alike merges identical faults of several list elements: one wrong field in two hundred steps is one mistake. The message counts
// the other places; the hint names the field that was probably meant.
func alike(faults events.Faults) events.Faults {
	var list events.Faults
	at, more := map[string]int{}, map[int]int{}
	for _, f := range faults {
		f.Hint = meant(&f)
		key := strings.Join([]string{string(f.Code), index.ReplaceAllString(f.Field, "[]"), f.Message, f.Cause, f.Hint}, "\x00")
		if i, told := at[key]; told && index.MatchString(f.Field) {
			more[i]++
			continue
		}
		at[key] = len(list)
		list = append(list, f)
	}
	for i, n := range more {
		list[i].Message += fmt.Sprintf(" (and in %d more places)", n)
	}
	return list
}

// knownFields begins the hint of an unknown field.
const knownFields = "known fields: "

// meant returns the hint of a fault; for an unknown field it begins with the field that was probably meant.
func meant(f *events.Fault) string {
	rest, ok := strings.CutPrefix(f.Hint, knownFields)
	if !ok || f.Code != events.CodeUnknownField {
		return f.Hint
	}
	field := f.Field[strings.LastIndexAny(f.Field, ". ")+1:]
	if name := host.Meant(field, strings.Split(rest, ", ")); name != "" {
		return fmt.Sprintf("did you mean %q? %s", name, f.Hint)
	}
	return f.Hint
}
