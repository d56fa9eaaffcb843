package conversation

import (
	"fmt"
	"strings"
)

// Limits of what is recalled, in bytes of all passages and of all facts.
const (
	MaxPassages = 8 << 10
	MaxFacts    = 4 << 10
)

// Recalled is what was found for the work before it begins: passages of documents, and what the expert remembers of the user. The
// zero value is empty.
type Recalled struct {
	// Passages are the best passages, best first.
	Passages []Passage
	// Search is true if there is a tool to search for more.
	Search bool
	// Facts are what the expert remembers of the user, newest first.
	Facts []string
}

// Passage is a part of a document.
type Passage struct {
	// ID cites the passage; Source names the base, the document and the headings.
	ID, Source string
	// Text is the passage.
	Text string
}

// NewRecalled returns what fits: passages numbered k1, k2, … in their order, and facts. The first passage is shortened if it does
// not fit; others that do not fit are left out.
func NewRecalled(passages []Passage, facts []string, search bool) Recalled {
	r := Recalled{Search: search}
	left := MaxPassages
	for _, p := range passages {
		if len(p.Text) > left && len(r.Passages) > 0 {
			continue
		}
		p.ID = fmt.Sprintf("k%d", len(r.Passages)+1)
		left -= len(p.Text)
		r.Passages = append(r.Passages, p)
	}
	left = MaxFacts
	for _, fact := range facts {
		if left -= len(fact); left < 0 {
			break
		}
		r.Facts = append(r.Facts, fact)
	}
	return r
}

// rules says how to use what was recalled.
func (r *Recalled) rules() string {
	var list []string
	if len(r.Passages) > 0 {
		text := "Data of kind passage is from documents that are kept for this job: look there first. Behind what you take from a passage, cite its " +
			"id in square brackets, such as [k1]; cite no id that you were not given."
		if r.Search {
			text += " search_knowledge finds more passages."
		}
		list = append(list, text)
	}
	if len(r.Facts) > 0 {
		list = append(list, "Data of kind memory is what you have kept of this user from earlier jobs, newest first. What the request says counts more.")
	}
	return strings.Join(list, "\n")
}

// data returns what was recalled for a prompt, between the tags that mark data.
func (r *Recalled) data() string {
	var b strings.Builder
	for i := range r.Passages {
		p := &r.Passages[i]
		b.WriteString("\n" + Data("passage", p.ID+" "+p.Source, p.Text, MaxPassages))
	}
	if len(r.Facts) > 0 {
		b.WriteString("\n" + Data("memory", "user", "- "+strings.Join(r.Facts, "\n- "), 2*MaxFacts))
	}
	return b.String()
}
