package lenient

import (
	"slices"
	"strings"
)

// The bounds of a search for repairs.
const (
	// maxRepairs limits the candidates at one place, lookAhead how far each is tried, maxPlaces how many places are repaired.
	maxRepairs = 8
	lookAhead  = 4 << 10
	maxPlaces  = 64
	// maxWork is the total work in multiples of the text.
	maxWork = 32
	// copied is how many bytes can be copied in the time of one step.
	copied = 8
)

// The costs of repairs. Repairs of equal cost are equally likely.
const (
	costComma    = 2
	costChar     = 2
	costPair     = 2
	costText     = 3
	costSplit    = 3
	costUnlikely = 5
	costRepeated = 4
	costMisfit   = 3
	costAgain    = 4
	costStuck    = 100
	// margin is how much cheaper a repair must be to rule out another one.
	margin = 1
)

// edit replaces a part of a text.
type edit struct {
	at, del int
	ins     string
}

// repair is a candidate: a few edits in ascending order.
type repair struct {
	kind  Kind
	cost  int
	edits []edit
}

// trial is the result of trying a candidate: how far its text made sense.
type trial struct {
	repair
	// whole means that the value ended well or the look-ahead was used up; otherwise reach is where it broke.
	whole bool
	reach int
	// far is true if reading got beyond the repair and its place before the text broke.
	far bool
	// plain is the cost of the repair; weight adds the cost of what contradicts the shape; hash identifies the value.
	plain, weight int
	hash          uint64
}

// mending repairs the structure of one value. It reads the text with an automaton and, where that breaks, tries the candidates for
// the place.
type mending struct {
	opts *Options
	src  string
	// start is where the value begins, end where it ends in the repaired text.
	start, end int
	notes      Notes
	edits      []edit
	recent     []state
	// steps is the work so far, budget its limit.
	steps, budget int
	// twice is the offset up to which repeated keys are accepted.
	twice int
	// doubt is the first place where several repairs are equally likely; nil for none.
	doubt *Doubt
	// ok is false if the value must be left to the parser; foreign if that is because of another language.
	ok, foreign bool
}

// tooMany is what Doubt.Expected says if the search is given up.
const tooMany = "the text has too many mistakes to read it safely"

// mend repairs the value at an offset; the search may take budget steps.
func mend(o *Options, src string, start, budget int) *mending {
	m := &mending{opts: o, src: src, start: start, budget: budget}
	a := m.automaton()
	if budget <= 0 {
		m.suspect(a, tooMany)
		return m
	}
	for range maxPlaces {
		a.run()
		m.steps += a.ahead.steps
		a.ahead.steps = 0
		switch {
		case a.stop == finished:
			m.ok, m.end = true, a.pos
			m.behind(a)
			return m
		case a.stop == foreign:
			m.foreign = m.doubt == nil && len(m.edits) == 0
			return m
		case m.cut(a):
			m.suspect(a, expected(a))
			return m
		case a.odd():
			m.foreign = m.doubt == nil && len(m.edits) == 0
			if !m.foreign {
				m.suspect(a, expected(a))
			}
			return m
		case m.steps > m.budget:
			m.suspect(a, tooMany)
			return m
		}
		next := m.repair(a)
		if next == nil {
			m.suspect(a, expected(a))
			return m
		}
		a = next
	}
	m.suspect(a, tooMany)
	return m
}

// cut reports whether the text ends inside the value, so that the rest of it may be missing.
func (m *mending) cut(a *automaton) bool {
	switch a.stop {
	case ranOut:
		return a.pos >= len(m.src) && (a.remark.at < 0 || a.remark.end < len(m.src))
	case inText:
		return a.text.end >= len(m.src)
	}
	return false
}

// behind doubts a value after which its structure seems to continue.
func (m *mending) behind(a *automaton) {
	at := a.ahead.blanks(a.pos)
	if at >= len(m.src) || !continues(m.src[at]) || isCloser(m.src[at]) && len(m.edits) == 0 {
		return
	}
	a.pos = at
	m.suspect(a, "the JSON ends here, but more of it follows")
}

func (m *mending) automaton() *automaton {
	a := newAutomaton(m.opts, m.src, m.start, m.opts.Shape)
	a.recent, a.twice = &m.recent, m.twice
	return a
}

// suspect records a doubt unless there already is one.
func (m *mending) suspect(a *automaton, why string) {
	if m.doubt == nil {
		m.doubt = &Doubt{At: m.original(min(a.pos, len(m.src))), Expected: why}
	}
}

// original returns the offset in the original text.
func (m *mending) original(at int) int {
	for _, e := range slices.Backward(m.edits) {
		switch {
		case at >= e.at+len(e.ins):
			at += e.del - len(e.ins)
		case at > e.at:
			at = e.at
		}
	}
	return at
}

// repair tries the candidates where the automaton broke and applies the best. It returns the automaton that continues, or nil if
// none makes sense.
func (m *mending) repair(a *automaton) *automaton {
	candidates := m.candidates(a)
	from := m.back(a, &candidates)
	if from == nil {
		return nil
	}
	trials := make([]trial, 0, len(candidates))
	for _, c := range candidates {
		if m.steps > m.budget {
			return nil
		}
		trials = append(trials, m.try(a, from, c))
	}
	best := choice(trials)
	if best == nil || !best.whole && best.reach <= a.pos {
		return nil
	}
	if m.doubtful(a, best, trials) {
		m.suspect(a, expected(a))
	}
	return m.apply(a, from, best)
}

// back returns the last state before all edits, and drops candidates that begin before any state.
func (m *mending) back(a *automaton, candidates *[]repair) *state {
	*candidates = slices.DeleteFunc(*candidates, func(c repair) bool { return len(c.edits) > 0 && m.before(a, c.edits[0].at) == nil })
	if len(*candidates) > maxRepairs {
		*candidates = (*candidates)[:maxRepairs]
	}
	first := a.pos
	for _, c := range *candidates {
		if len(c.edits) > 0 {
			first = min(first, c.edits[0].at)
		}
	}
	if len(*candidates) == 0 {
		return nil
	}
	return m.before(a, first)
}

// before returns the last kept state at or before an offset that is not too far away.
func (m *mending) before(a *automaton, at int) *state {
	for i := range slices.Backward(m.recent) {
		if m.recent[i].pos <= at {
			return &m.recent[i]
		}
	}
	if b := a.closed; b != nil && b.begin.pos <= at && a.pos-b.begin.pos <= lookAhead {
		return b.begin
	}
	for b := a.top; b != nil && a.pos-b.begin.pos <= lookAhead; b = b.up {
		if b.begin.pos <= at {
			return b.begin
		}
	}
	return nil
}

// try reads on with a candidate, for a limited distance.
func (m *mending) try(a *automaton, from *state, c repair) trial {
	limit := min(len(m.src), a.pos+lookAhead)
	text, moved := edited(m.src[from.pos:limit], from.pos, c.edits)
	t := newAutomaton(m.opts, text, 0, nil)
	t.state, t.pos, t.comma = *from, 0, -1
	t.last = min(from.last-from.pos, 0)
	t.run()
	m.steps += t.ahead.steps + len(text)
	got := trial{repair: c, hash: t.hash, plain: c.cost + t.cost - from.cost}
	got.weight = got.plain + costMisfit*(t.misfit-from.misfit)
	got.reach = from.pos + t.pos - moved
	switch {
	case t.stop == finished:
		got.whole = true
		at := t.ahead.blanks(t.pos)
		if (c.kind == Comment || c.kind == OpenString) && at < len(text) && !t.ahead.frameEnds(at) {
			got.plain, got.weight = got.plain+costUnlikely, got.weight+costUnlikely
		} else if at < len(text) && continues(text[at]) {
			got.plain, got.weight = got.plain+costUnlikely, got.weight+costUnlikely
		}
	case limit < len(m.src) && (t.stop == inText || t.pos >= len(text)-maxAhead):
		got.whole = true
	case t.stop == inText:
		got.reach = from.pos + t.text.at - moved
	case t.stop == foreign:
		got.plain, got.weight = got.plain+costUnlikely, got.weight+costUnlikely
	}
	got.far = got.reach > a.pos
	if n := len(c.edits); n > 0 {
		got.far = got.reach > max(a.pos, c.edits[n-1].at+c.edits[n-1].del)+1
	}
	return got
}

// continues reports whether a character after a value shows that the value goes on.
func continues(c byte) bool { return strings.IndexByte(`,:]}"`, c) >= 0 }

// edited applies edits to a piece of text that begins at an offset. moved is how much longer it became.
func edited(text string, offset int, edits []edit) (string, int) {
	var out strings.Builder
	done, moved := 0, 0
	for _, e := range edits {
		at := min(max(e.at-offset, done), len(text))
		out.WriteString(text[done:at])
		out.WriteString(e.ins)
		done = min(at+e.del, len(text))
		moved += len(e.ins) - e.del
	}
	out.WriteString(text[done:])
	return out.String(), moved
}

// choice returns the best candidate: the one that makes the whole text readable, else the one that reaches farthest, else the
// cheapest.
func choice(trials []trial) *trial {
	var best *trial
	for i := range trials {
		if t := &trials[i]; best == nil || t.better(best) {
			best = t
		}
	}
	return best
}

func (t *trial) better(than *trial) bool {
	if t.whole == than.whole && !t.whole && t.reach != than.reach {
		return t.reach > than.reach
	}
	return t.price() < than.price()
}

// price returns the weight, increased if the text breaks again after the candidate, perhaps because of another mistake.
func (t *trial) price() int {
	switch {
	case t.whole:
		return t.weight
	case t.far:
		return t.weight + costAgain
	}
	return t.weight + costStuck
}

// doubtful reports whether another candidate with another value is as likely as the best one, or whether the text may be
// cut there.
func (m *mending) doubtful(a *automaton, best *trial, trials []trial) bool {
	if best.kind == MissingCloser && (best.edits[0].del > 0 || best.weight > best.plain) && a.ahead.blanks(a.pos+1) >= len(m.src) {
		return true
	}
	if best.plain >= costUnlikely || best.kind == Junk && letters(m.src, best.edits[0]) || a.stop == inText && best.whole || a.stop == ranOut && a.pos >= len(m.src) {
		return true
	}
	for i := range trials {
		t := &trials[i]
		if t.hash == best.hash || !t.whole && t.reach != best.reach {
			continue
		}
		if t.price() <= best.price()+margin {
			return true
		}
	}
	return false
}

// apply makes the edits of a candidate and returns the automaton that continues before them.
func (m *mending) apply(a *automaton, from *state, best *trial) *automaton {
	at := a.pos
	if len(best.edits) > 0 {
		at = best.edits[0].at
	} else {
		m.twice = a.pos
	}
	m.notes.add(best.kind, m.original(at))
	m.src, _ = edited(m.src, 0, best.edits)
	m.steps += len(m.src) / copied
	shift := 0
	for _, e := range best.edits {
		e.at += shift
		shift += len(e.ins) - e.del
		m.edits = append(m.edits, e)
	}
	next := m.automaton()
	next.state = *from
	keep := 0
	for keep < len(m.recent) && m.recent[keep].pos < from.pos {
		keep++
	}
	m.recent = m.recent[:keep]
	return next
}

// letters reports whether an edit removes a word.
func letters(src string, e edit) bool {
	return strings.ContainsFunc(src[e.at:min(len(src), e.at+e.del)], isWord)
}
