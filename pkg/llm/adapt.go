package llm

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	openai "github.com/sashabaranov/go-openai"
)

// ladder is the order in which ways of asking for structured output are tried.
var ladder = []Rung{RungSchema, RungObject, RungTool, RungPrompt}

// shape is the form in which a request is sent to one model.
type shape struct {
	dialect Dialect
	// rung is how structured output is requested.
	rung Rung
	// dropped names the fields that the model rejects, in order.
	dropped []string
	// limit is the most tokens that the model allows an answer, 0 if it has not objected.
	limit int
}

// drops reports whether a field is left out.
func (s shape) drops(field string) bool { return slices.Contains(s.dropped, field) }

// droppable are the fields that a request can do without. The token limit has two names: if one is rejected, the other is
// sent.
var droppable = []string{
	"temperature", "seed", "reasoning_effort", "thinking_budget", "stream_options", "include", "metadata", "max_completion_tokens", "max_tokens",
}

// memory is what calls have learned about a model. It is kept as long as the model stays the same.
type memory struct {
	mu    sync.Mutex // Guards shape.
	shape shape
}

func newMemory(cfg ModelConfig) *memory {
	return &memory{shape: shape{dialect: cfg.dialect(), rung: cfg.Structured}}
}

// recall returns the shape to start with.
func (m *memory) recall() shape {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.shape
	known.dropped = slices.Clone(known.dropped)
	return known
}

// learn stores a shape that led to an answer. A call without a schema says nothing about structured output.
func (m *memory) learn(worked shape, structured bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !structured {
		worked.rung = m.shape.rung
	}
	m.shape = worked
}

// adapt returns the shape to try after a rejection, or false if the rejection is final. Each step removes an option, so the
// attempts end.
func (s shape) adapt(err *Error, r Request, cfg ModelConfig, sent map[string]any) (shape, bool) {
	s.dropped = slices.Clone(s.dropped)
	if s.dialect == DialectChat && (cfg.API == "" || cfg.API == "auto") && wantsResponses(err) {
		s.dialect = DialectResponses
		return s, true
	}
	if limit := mostTokens(err); limit > 0 && s.dialect == DialectAnthropic && (s.limit == 0 || limit < s.limit) {
		s.limit = limit
		return s, true
	}
	if err.Class == BadRequest {
		if field := named(err, sent, s); field != "" {
			s.dropped = append(s.dropped, field)
			return s, true
		}
	}
	next := slices.Index(ladder, s.rung) + 1
	if r.Schema == nil || next >= len(ladder) || !aboutForm(err) {
		return s, false
	}
	s.rung = ladder[next]
	if s.rung == RungObject && s.dialect == DialectAnthropic {
		s.rung = RungTool // Anthropic's API has no such form.
	}
	return s, true
}

// wantsResponses recognises models that accept tools, or any request, only through the Responses API.
func wantsResponses(err *Error) bool {
	if err.Class != BadRequest && err.Class != NotFound {
		return false
	}
	message := strings.ToLower(err.Message)
	return strings.Contains(message, "v1/responses") || strings.Contains(message, "responses api") ||
		strings.Contains(message, "/responses endpoint") || strings.Contains(message, "use the responses endpoint")
}

// unknowns are words of rejections that concern a parameter as such, not its value.
var unknowns = []string{"support", "unknown", "unrecognized", "unexpected", "not permitted", "not allowed", "extra ", "deprecated", "not enabled"}

// named returns the droppable field that a rejection names and the request contains, or "". The parameter in the rejection
// takes precedence over its message.
func named(err *Error, sent map[string]any, s shape) string {
	message := strings.ToLower(err.Message + " " + err.Code)
	if !slices.ContainsFunc(unknowns, func(word string) bool { return strings.Contains(message, word) }) {
		return ""
	}
	for _, text := range []string{err.Param, err.Message} {
		for _, field := range droppable {
			word := field
			if field == "reasoning_effort" && s.dialect == DialectResponses {
				word = "reasoning"
			}
			if field == "max_tokens" && s.dialect != DialectChat {
				continue
			}
			if thinks := field == "reasoning_effort" || field == "thinking_budget"; thinks && protocols[s.dialect] != nil {
				text, word = aboutThought(text), aboutThought(word)
			}
			if _, holds := sent[field]; holds && !s.drops(field) && mentions(text, word) {
				return field
			}
		}
	}
	return ""
}

// aboutThought replaces the names of settings that concern how much a model thinks by one word.
func aboutThought(text string) string {
	for _, word := range []string{"thinking", "effort"} {
		if strings.Contains(strings.ToLower(text), word) {
			return "thinking"
		}
	}
	return ""
}

// tokenLimit matches a rejection that says how many tokens an answer may have.
var tokenLimit = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

// mostTokens returns the most tokens that a model allows an answer, if the rejection is about that.
func mostTokens(err *Error) int {
	found := tokenLimit.FindStringSubmatch(err.Message)
	if err.Class != BadRequest || found == nil {
		return 0
	}
	limit, _ := strconv.Atoi(found[1]) // 0 for a number that is too large.
	return limit
}

// mentions reports whether text contains word as a whole word.
func mentions(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isWordByte(text[i-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = end
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// aboutForm reports whether a rejection may concern the way in which structured output was requested: a 400 or 422 that
// names no other parameter, or a router that found no provider for it.
func aboutForm(err *Error) bool {
	if err.Status == http.StatusNotFound {
		return strings.Contains(err.Message, "No endpoints found that support")
	}
	if err.Class != BadRequest || err.Status != http.StatusBadRequest && err.Status != http.StatusUnprocessableEntity {
		return false
	}
	for _, ours := range []string{"response_format", "text", "tool", "schema", "format", "function"} {
		if err.Param == "" || strings.HasPrefix(err.Param, ours) {
			return true
		}
	}
	return false
}

// presumed returns the error of a request that the SDK itself rejected before sending it.
func presumed(err error) *Error {
	made := &Error{Class: BadRequest, Message: excerpt(err.Error(), nil), unsent: true}
	if errors.Is(err, openai.ErrReasoningToolsRequireResponses) {
		made.Message = "tools of this model need the Responses API"
	}
	return made
}
