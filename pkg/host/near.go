package host

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/near"
)

// Near returns up to three existing names similar to one that was not found, the most similar first.
func Near(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var list []scored
	for _, other := range names {
		d := near.Distance(name, other)
		if len(name) >= 4 && strings.HasPrefix(other, name) {
			d = 0
		}
		if d <= max(2, len(name)/4) && d < max(len(name), len(other)) { // A name that shares no character is not meant.
			list = append(list, scored{other, d})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return a.d - b.d })
	var best []string
	for _, s := range list[:min(3, len(list))] {
		best = append(best, s.name)
	}
	return best
}

// elsewhere maps words of other tools to our fields, in lower case and without separators. The first known field is used.
var elsewhere = map[string][]string{
	"dependson": {"dependencies"}, "depends": {"dependencies"}, "deps": {"dependencies"}, "requires": {"dependencies"}, "after": {"dependencies"},
	"upstream": {"dependencies"}, "cmd": {"command"}, "exec": {"command"}, "run": {"command", "goal"}, "program": {"command"}, "script": {"command"},
	"agent": {"expert"}, "agentname": {"expert"}, "role": {"expert"}, "worker": {"expert"}, "assignee": {"expert"}, "assignedto": {"expert"},
	"task": {"goal"}, "query": {"goal"}, "instruction": {"goal", "prompt"}, "instructions": {"goal", "prompt"}, "objective": {"goal"},
	"description": {"context", "goal"}, "name": {"title", "id"}, "criteria": {"completion_criteria"}, "acceptance": {"completion_criteria"},
	"donewhen": {"completion_criteria"}, "steps": {"subjobs"}, "tasks": {"subjobs"}, "nodes": {"subjobs"}, "condition": {"when"}, "if": {"when"},
	"retry": {"retries"}, "attempts": {"retries"}, "maxretries": {"retries"}, "schema": {"output_schema"}, "system": {"prompt"},
	"systemprompt": {"prompt"}, "llm": {"model"}, "environment": {"env"}, "apikey": {"api_key", "key"}, "url": {"base_url", "endpoint"},
}

// Meant returns the field that a name most likely refers to: the equivalent of another tool's field, else the one with the most
// similar spelling; "" if there is none.
func Meant(name string, known []string) string {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, field := range elsewhere[plain] {
		if slices.Contains(known, field) {
			return field
		}
	}
	for _, field := range known { // The name may be in camelCase, or have a hyphen for an underscore.
		if strings.ReplaceAll(strings.ToLower(field), "_", "") == plain {
			return field
		}
	}
	return nearest(name, known)
}

// nearest returns the candidate most similar to a mistyped name, or "" if none is close.
func nearest(name string, candidates []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range candidates {
		if d := near.Distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}
