package profile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/template"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// fallbackLanguage is the language that every prompt must have.
const fallbackLanguage = "en"

// prompt is one template that defines "system" and "user".
type prompt struct{ template *template.Template }

// readPrompts parses every template together with the shared parts of its language (files that begin with an underscore).
// It renders each once with every variable set and once with none.
func (s *Set) readPrompts(files map[string]file) []error {
	var faults []error
	parts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isPrompt(name) && strings.HasPrefix(path.Base(name), "_") {
			parts[language(name)] += string(files[name].data)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isPrompt(name) || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		p, err := parsePrompt(files[name], parts[language(name)])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if s.prompts[language(name)] == nil {
			s.prompts[language(name)] = map[string]*prompt{}
		}
		s.prompts[language(name)][strings.TrimSuffix(path.Base(name), ".tmpl")] = p
	}
	return faults
}

func language(name string) string { return path.Base(path.Dir(name)) }

func parsePrompt(f file, parts string) (*prompt, error) {
	t, err := template.Parse(f.name, string(f.data))
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	for _, part := range []string{"system", "user"} {
		if !t.Has(part) {
			return nil, fmt.Errorf("%s:1:1: does not define %q", f.name, part)
		}
	}
	if err := t.Add("parts", parts); err != nil {
		return nil, fmt.Errorf("read parts of prompt %s: %w", f.name, err)
	}
	p := &prompt{t}
	for _, v := range []planning.Vars{{}, sample()} {
		if _, err := p.render(v); err != nil {
			return nil, fmt.Errorf("try prompt: %w", err)
		}
	}
	return p, nil
}

// sample returns variables that are all set, for trying out prompts.
func sample() planning.Vars {
	return planning.Vars{
		Now: "2026-01-01T00:00:00Z", Locale: "en-US", Goal: "goal", Query: "query", Context: "context", MaxSteps: 3, MaxRounds: 2, Round: 1,
		Experts: []planning.Expert{
			{ID: "a", Name: "A", Description: "d", Skills: []string{"s"}, Tags: []string{"t"}, Examples: []string{"e"}, Abilities: []string{"x"}, Live: true},
			{ID: "b", Name: "B", Seen: "2026-01-01T00:00:00Z"},
		},
		History: "history", Lessons: []string{"lesson"}, Wishes: []string{"wish"}, Told: []string{"told"}, Findings: "findings", Faults: []string{"fault"},
		Raw: "raw", Unknown: []string{"unknown"}, Model: "model", Unreachable: true, Malformed: true,
		Part: &events.SubJob{CompletionCriteria: "criteria"}, Finished: []string{"f"}, Example: "example", Plan: "plan", Text: "text", Last: true, Again: true,
		Schedules: []string{"schedule"}, Clarify: 1, Style: "style", Report: true, Title: "title", Thought: "thought", Words: "words",
		Steps:   []finish.Step{{ID: "a", Goal: "goal", Text: "result", Last: true}},
		Sources: []finish.Source{{Title: "source", URL: "https://example.org"}},
	}
}

func (p *prompt) render(v planning.Vars) (planning.Prompt, error) {
	system, err := p.template.Execute("system", v)
	user, err2 := p.template.Execute("user", v)
	return planning.Prompt{System: system, User: user}, errors.Join(err, err2)
}

// Render renders a prompt in the language of a locale, or in English if that has none. It serves as planning.Ports.Render.
func (s *Set) Render(name, locale string, v planning.Vars) (planning.Prompt, error) {
	language, _, _ := strings.Cut(strings.ToLower(locale), "-")
	for _, l := range []string{strings.ToLower(locale), language, fallbackLanguage} {
		if p := s.prompts[l][name]; p != nil {
			out, err := p.render(v)
			if err != nil {
				return out, fmt.Errorf("render prompt %s: %w", name, err)
			}
			return out, nil
		}
	}
	return planning.Prompt{}, fmt.Errorf("there is no prompt %q; there are %s", name, strings.Join(s.promptNames(), ", "))
}

func (s *Set) has(name string) bool { return s.prompts[fallbackLanguage][name] != nil }

func (s *Set) promptNames() []string { return slices.Sorted(maps.Keys(s.prompts[fallbackLanguage])) }
