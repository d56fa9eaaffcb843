package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The limits of a record.
const (
	// MaxFact is the longest fact, in bytes.
	MaxFact = 500
	// MaxFacts is how many facts an expert keeps of a user; a new one replaces the oldest.
	MaxFacts = 100
)

// Fact is something that an expert remembers.
type Fact struct {
	// ID identifies the fact within its record.
	ID string `json:"id"`
	// Text is the fact, in one line.
	Text string `json:"text"`
	// At is when it was remembered or edited; Job is the job that remembered it, empty for a fact added by a person.
	At  time.Time `json:"at"`
	Job string    `json:"job,omitempty"`
}

// Record is what an expert remembers of a user.
type Record struct {
	// User and Expert are whose record it is. A record without an expert holds the switch of a user for all experts.
	User   string `json:"user"`
	Expert string `json:"expert,omitempty"`
	// Off means that nothing new is remembered, and that what was remembered is not used.
	Off bool `json:"off,omitempty"`
	// Facts are what the expert remembers, oldest first.
	Facts []Fact `json:"facts,omitempty"`
}

// Key returns the key of a record in its bucket.
func Key(user, expert string) string {
	if expert == "" {
		return "user." + events.EscapeID(user)
	}
	return "fact." + events.EscapeID(user) + "." + events.EscapeID(expert)
}

// KeysOf begins the keys of all records with facts of a user.
func KeysOf(user string) string { return "fact." + events.EscapeID(user) }

// check brings a text into the form of a fact. Errors are *events.Fault.
func check(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", &events.Fault{Code: events.CodeMissing, Field: "text", Message: "the fact is empty"}
	case !utf8.ValidString(text):
		return "", &events.Fault{Code: events.CodeInvalid, Field: "text", Message: "the fact is no UTF-8 text"}
	case len(text) > MaxFact:
		return "", &events.Fault{
			Code: events.CodeTooLarge, Field: "text", Message: fmt.Sprintf("the fact has %d bytes, at most %d are kept", len(text), MaxFact), Hint: "say it shorter, or in several facts",
		}
	}
	return text, nil
}

// add adds a fact, unless the record has its identity or its text. It reports whether anything changed.
func (r *Record) add(f Fact) bool {
	if slices.ContainsFunc(r.Facts, func(g Fact) bool { return g.ID == f.ID || strings.EqualFold(g.Text, f.Text) }) {
		return false
	}
	r.Facts = append(r.Facts, f)
	r.Facts = slices.Delete(r.Facts, 0, max(0, len(r.Facts)-MaxFacts))
	return true
}

// place returns the position of the fact whose id begins with a text. Errors are *events.Fault.
func (r *Record) place(id string) (int, error) {
	at := -1
	for i := range r.Facts {
		if id != "" && strings.HasPrefix(r.Facts[i].ID, id) {
			if at >= 0 {
				return 0, &events.Fault{Code: events.CodeConflict, Field: "id", Message: fmt.Sprintf("several facts have an id like %.80q", id), Hint: "give more of the id"}
			}
			at = i
		}
	}
	if at < 0 {
		return 0, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("there is no fact %.80q", id), Hint: "jobgraph memory show --user " + r.User + " --expert " + r.Expert}
	}
	return at, nil
}
