package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/consent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// decision is a person's decision about a call.
type decision struct {
	approved bool
	reason   string
	// args replace the model's arguments; empty keeps them.
	args string
}

// readDecision parses an answer. Anything that is not clearly an approval is a rejection: no answer, other words, or edited
// arguments that are not an object.
func readDecision(c *events.InputClosed) decision {
	var said struct {
		Approved *bool           `json:"approved"`
		Action   string          `json:"action"`
		Reason   string          `json:"reason"`
		Args     json.RawMessage `json:"args"`
	}
	var word string
	var plain bool
	switch {
	case len(c.Answer) == 0:
		return decision{reason: "no answer"}
	case json.Unmarshal(c.Answer, &plain) == nil && string(c.Answer) != "null":
		return decision{approved: plain}
	case json.Unmarshal(c.Answer, &word) == nil:
		return spoken(word)
	case json.Unmarshal(c.Answer, &said) != nil:
		return decision{reason: "the answer is neither an approval nor a rejection"}
	}
	edits := len(said.Args) > 0 && string(said.Args) != "null"
	d := decision{reason: said.Reason}
	switch {
	case said.Approved != nil:
		d.approved = *said.Approved
	case strings.EqualFold(strings.TrimSpace(said.Action), "edit"):
		d.approved = edits
	default:
		d.approved = consent.Of(said.Action) == consent.Accepted
	}
	if !d.approved || !edits {
		return d
	}
	args, err := tool.Object(string(said.Args))
	if err != nil || said.Args[0] != '{' {
		return decision{reason: "the edited arguments are no JSON object"}
	}
	d.args = args
	return d
}

// spoken parses a decision in words; any words other than those of approval are the reason of the rejection.
func spoken(text string) decision {
	text = strings.TrimSpace(text)
	d, reason := consent.Because(text)
	switch {
	case d == consent.Undecided && text == "":
		return decision{reason: "the answer is empty"}
	case d == consent.Undecided:
		return decision{reason: text}
	}
	return decision{approved: d == consent.Accepted, reason: reason}
}

// printable returns JSON in which every character is visible: characters that a terminal would act on or hide are written
// as numbers.
func printable(raw string) string {
	var b strings.Builder
	for _, c := range raw {
		switch {
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			high, low := (c-0x10000)>>10+0xD800, (c-0x10000)&0x3FF+0xDC00
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
