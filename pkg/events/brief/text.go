package brief

import (
	"fmt"
	"strings"
)

// sign returns the mark of a status in a text.
func (s Status) sign() string {
	switch s {
	case Completed:
		return "[✓] "
	case InProgress:
		return "[→] "
	case NotStarted:
		return "[ ] "
	case Blocked:
		return "[!] "
	}
	return ""
}

// Outline returns the plan as text for models: one step per line with its mark, and where the step of the run stands. The text is
// empty without a plan.
func (b *Brief) Outline() string {
	p := b.Plan
	if p == nil {
		return ""
	}
	var t strings.Builder
	if p.Title != "" {
		t.WriteString(p.Title + "\n")
	}
	if m := b.Marks; m != nil {
		fmt.Fprintf(&t, "Steps: %d completed, %d in progress, %d not started, %d blocked\n", m.Completed, m.InProgress, m.NotStarted, m.Blocked)
	}
	first := max(p.First, 1)
	if first > 1 {
		fmt.Fprintf(&t, "… %d steps before\n", first-1)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		fmt.Fprintf(&t, "%d. ", first+i)
		t.WriteString(s.Status.sign() + s.ID)
		if s.Title != "" {
			t.WriteString(": " + s.Title)
		}
		if b.Place != nil && s.ID == b.Place.ID {
			t.WriteString(" (this step)")
		}
		t.WriteString("\n")
	}
	if b.Place == nil {
		return t.String()
	}
	if after := b.Place.Of - (first + len(p.Steps) - 1); after > 0 {
		fmt.Fprintf(&t, "… %d steps after\n", after)
	}
	fmt.Fprintf(&t, "This is step %d of %d.\n", b.Place.N, b.Place.Of)
	neighbours(&t, "It gets the results of", b.Predecessors, b.MorePredecessors)
	neighbours(&t, "Its result goes to", b.Successors, b.MoreSuccessors)
	return t.String()
}

// neighbours lists some of the step's neighbours.
func neighbours(t *strings.Builder, title string, list []Step, more int) {
	if len(list) == 0 {
		return
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	fmt.Fprintf(t, "%s: %s", title, strings.Join(ids, ", "))
	if more > 0 {
		fmt.Fprintf(t, " and %d more", more)
	}
	t.WriteString("\n")
}
