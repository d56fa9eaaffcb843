package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Responder decides what the model answers.
type Responder interface {
	// Respond answers one question. An error becomes status 500 with its text.
	Respond(Question) (Answer, error)
}

// Func is a Responder made from a function.
type Func func(Question) (Answer, error)

// Respond calls the function.
func (f Func) Respond(q Question) (Answer, error) { return f(q) }

// When selects the questions of a rule; empty fields match all.
type When struct {
	// Model is the requested name.
	Model string `yaml:"model"`
	// Contains are texts that the conversation must all contain.
	Contains []string `yaml:"contains"`
	// Matches is a regular expression on the last user's turn.
	Matches string `yaml:"matches"`
	// Tool is a tool that is offered, Result a text in the last tool's result.
	Tool   string `yaml:"tool"`
	Result string `yaml:"result"`
	// Form is json_schema, json_object, or none if no structured output is requested.
	Form string `yaml:"form"`
	// Path is /chat/completions, /responses, /messages or /generateContent.
	Path string `yaml:"path"`
}

// Rule is an answer and the questions that it answers.
type Rule struct {
	// When selects the questions that the rule answers.
	When When `yaml:"when"`
	// Times is how many questions it answers; 0 means all, except for rules without When, which answer once.
	Times  int `yaml:"times"`
	Answer `yaml:",inline"`
}

// Script answers with the first matching rule that is not used up. A question without a rule goes to Else; it is an error
// if that is nil. The zero value answers nothing. It is safe for concurrent use and must not be copied after use.
type Script struct {
	// Rules are tried in order.
	Rules []Rule `yaml:"answers"`
	// Else answers the questions without a rule.
	Else Responder `yaml:"-"`

	mu   sync.Mutex // Guards used.
	used []int
}

// Say returns a script of plain answers, one per question in order.
func Say(answers ...Answer) *Script {
	s := &Script{}
	for _, answer := range answers {
		s.Rules = append(s.Rules, Rule{Answer: answer})
	}
	return s
}

// ReadScript reads a script in YAML or JSON: {answers: [{when: …, text: …}, …]}. Unknown keys are errors.
func ReadScript(r io.Reader) (*Script, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	s := &Script{}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read script: %w", err)
	}
	for i, rule := range s.Rules {
		if _, err := regexp.Compile(rule.When.Matches); err != nil {
			return nil, fmt.Errorf("read script: answers[%d].when.matches: %w", i, err)
		}
	}
	return s, nil
}

// LoadScript reads a script from a file.
func LoadScript(path string) (*Script, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open script: %w", err)
	}
	defer file.Close()
	return ReadScript(file)
}

// Respond returns the answer of the first matching rule.
func (s *Script) Respond(q Question) (Answer, error) {
	s.mu.Lock()
	rule := s.pick(q)
	s.mu.Unlock()
	switch {
	case rule != nil:
		return rule.Answer, nil
	case s.Else != nil:
		return s.Else.Respond(q)
	}
	return Answer{}, fmt.Errorf("the script has no answer to question %d: %.200q", q.N, q.Last("user"))
}

func (s *Script) pick(q Question) *Rule {
	for len(s.used) < len(s.Rules) {
		s.used = append(s.used, 0)
	}
	for i := range s.Rules {
		rule := &s.Rules[i]
		times := rule.Times
		if times == 0 && rule.When.empty() {
			times = 1
		}
		if (times == 0 || s.used[i] < times) && rule.When.fits(q) {
			s.used[i]++
			return rule
		}
	}
	return nil
}

func (w When) empty() bool {
	return w.Model+w.Matches+w.Tool+w.Result+w.Form+w.Path == "" && len(w.Contains) == 0
}

func (w When) fits(q Question) bool {
	all := q.All()
	for _, part := range w.Contains {
		if !strings.Contains(all, part) {
			return false
		}
	}
	if w.Matches != "" {
		if matched, err := regexp.MatchString(w.Matches, q.Last("user")); err != nil || !matched {
			return false
		}
	}
	if _, offered := q.Tools[w.Tool]; w.Tool != "" && !offered {
		return false
	}
	form := q.Form
	if form == "" {
		form = "none"
	}
	return (w.Model == "" || w.Model == q.Model) && (w.Path == "" || w.Path == q.Path) && (w.Form == "" || w.Form == form) &&
		(w.Result == "" || strings.Contains(q.Last("tool"), w.Result))
}
