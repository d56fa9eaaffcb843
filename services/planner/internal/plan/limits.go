package plan

import (
	"fmt"
	"slices"
	"time"
)

// Limits bound what a book keeps. Its active plan stays in any case.
type Limits struct {
	// Age is how long a plan stays after its last use: it was created, changed, marked, or active. 0 means for ever.
	Age time.Duration
	// Number limits the plans of a book; 0 means no limit.
	Number int
}

// Begin gives plans without a time of use, as in a book of an earlier release, the time at which the book was last written, and
// every plan the time at which it is removed.
func (b *Book) Begin(written time.Time, l Limits) {
	for i := range b.Boards {
		board := &b.Boards[i]
		if board.Used.IsZero() {
			board.Used = written.UTC()
		}
		board.Goes = time.Time{}
		if l.Age > 0 && board.ID != b.Active {
			board.Goes = board.Used.Add(l.Age)
		}
	}
}

// Due returns the ids of the plans that are to be removed by now.
func (b *Book) Due(now time.Time) []string {
	var ids []string
	for i := range b.Boards {
		if goes := b.Boards[i].Goes; !goes.IsZero() && !now.Before(goes) {
			ids = append(ids, b.Boards[i].ID)
		}
	}
	return ids
}

// Excess returns the ids of the plans beyond the limit: the least recently used, and of equal ones the older.
func (b *Book) Excess(l Limits) []string {
	if l.Number <= 0 || len(b.Boards) <= l.Number {
		return nil
	}
	idle := slices.Clone(b.Boards)
	idle = slices.DeleteFunc(idle, func(board Board) bool { return board.ID == b.Active })
	slices.SortStableFunc(idle, func(a, c Board) int { return a.Used.Compare(c.Used) })
	ids := make([]string, 0, len(b.Boards)-l.Number)
	for i := range idle[:min(len(idle), len(b.Boards)-l.Number)] {
		ids = append(ids, idle[i].ID)
	}
	return ids
}

// Drop removes the plans with these ids; unknown ids are ignored.
func (b *Book) Drop(ids []string) {
	b.Boards = slices.DeleteFunc(b.Boards, func(board Board) bool { return slices.Contains(ids, board.ID) })
}

// Note sets the time of use of the plans that an operation changed, and of the one that was active.
func (b *Book) Note(before *Book, now time.Time, l Limits) {
	for i := range b.Boards {
		board := &b.Boards[i]
		at := before.find(board.ID)
		if at < 0 || !alike(&before.Boards[at], board) || b.Active != before.Active && (board.ID == b.Active || board.ID == before.Active) {
			board.Used = now.UTC()
		}
	}
	b.Begin(now, l)
}

// alike reports whether two boards have the same plan and the same marks.
func alike(a, b *Board) bool {
	return a.Title == b.Title && string(a.Plan) == string(b.Plan) && slices.Equal(a.Lines, b.Lines)
}

// Board returns a plan of the book; nil if the book does not have it.
func (b *Book) Board(id string) *Board {
	if at := b.find(id); at >= 0 {
		return &b.Boards[at]
	}
	return nil
}

// Clone copies a book; the boards share nothing that an operation changes.
func (b *Book) Clone() *Book {
	c := &Book{Boards: slices.Clone(b.Boards), Active: b.Active}
	for i := range c.Boards {
		c.Boards[i].Lines = slices.Clone(c.Boards[i].Lines)
	}
	return c
}

// Stored returns the book in its stored form, without the times at which plans are removed, since those depend on the settings.
func (b *Book) Stored() *Book {
	c := b.Clone()
	for i := range c.Boards {
		c.Boards[i].Goes = time.Time{}
	}
	return c
}

// until says when a plan in a list is removed.
func (b *Board) until() string {
	if b.Goes.IsZero() {
		return ""
	}
	return fmt.Sprintf(", kept until %s", b.Goes.UTC().Format("2006-01-02 15:04 UTC"))
}
