package host

import (
	"slices"
	"strings"
)

// Near gives up to three names that begin as one that was not found, or differ little from it, the likeliest first.
func Near(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var list []scored
	for _, other := range names {
		d := distance(name, other)
		if len(name) >= 4 && strings.HasPrefix(other, name) {
			d = 0
		}
		if d <= max(2, len(name)/4) {
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

// elsewhere are words of other tools for our fields, in lower case and without separators. The first that is known counts.
var elsewhere = map[string][]string{
	"dependson": {"dependencies"}, "depends": {"dependencies"}, "deps": {"dependencies"}, "requires": {"dependencies"}, "after": {"dependencies"},
	"upstream": {"dependencies"}, "cmd": {"command"}, "exec": {"command"}, "run": {"command", "goal"}, "program": {"command"}, "script": {"command"},
	"agent": {"expert"}, "agentname": {"expert"}, "role": {"expert"}, "worker": {"expert"}, "assignee": {"expert"}, "assignedto": {"expert"},
	"task": {"goal"}, "query": {"goal"}, "instruction": {"goal", "prompt"}, "instructions": {"goal", "prompt"}, "objective": {"goal"},
	"description": {"context", "goal"}, "name": {"title", "id"}, "criteria": {"completion_criteria"}, "acceptance": {"completion_criteria"},
	"donewhen": {"completion_criteria"}, "steps": {"subjobs"}, "tasks": {"subjobs"}, "nodes": {"subjobs"}, "condition": {"when"}, "if": {"when"},
	"retry": {"retries"}, "attempts": {"retries"}, "maxretries": {"retries"}, "schema": {"output_schema"}, "system": {"prompt"},
	"systemprompt": {"prompt"}, "llm": {"model"}, "environment": {"env"}, "apikey": {"api_key"}, "url": {"base_url", "endpoint"},
}

// Meant is the field that a name most likely stands for: one that another tool calls so, else the one that is spelled most alike; ""
// when there is none.
func Meant(name string, known []string) string {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, field := range elsewhere[plain] {
		if slices.Contains(known, field) {
			return field
		}
	}
	for _, field := range known { // camelCase, a hyphen for an underscore.
		if strings.ReplaceAll(strings.ToLower(field), "_", "") == plain {
			return field
		}
	}
	return nearest(name, known)
}

// nearest is the candidate that differs least from a mistyped name, empty when none is close.
func nearest(name string, candidates []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range candidates {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the characters to insert, delete or exchange to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
