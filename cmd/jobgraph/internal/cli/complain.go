package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// index is the place in a list, within the path of a field.
var index = regexp.MustCompile(`\[\d+\]|^subtask_\d+`)

// alike joins faults that say the same of many places of a list: a wrong field in two hundred steps is one mistake. Each has the number
// of further places in its message, and what the field was probably meant to be in its hint.
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

// knownFields is how the hint of an unknown field begins.
const knownFields = "known fields: "

// meant is the hint of a fault; for an unknown field it begins with the one that was probably meant.
func meant(f *events.Fault) string {
	rest, ok := strings.CutPrefix(f.Hint, knownFields)
	if !ok || f.Code != events.CodeUnknownField {
		return f.Hint
	}
	field := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
	if name := host.Meant(field, strings.Split(rest, ", ")); name != "" {
		return fmt.Sprintf("did you mean %q? %s", name, f.Hint)
	}
	return f.Hint
}
