package lenient

import "strings"

// stop says why an automaton has stopped.
type stop byte

const (
	// running means that it can continue.
	running stop = iota
	// finished means that the value is complete.
	finished
	// broken means that the next character cannot follow.
	broken
	// ranOut means that the text, or the frame around the value, ends here; inText that it ends inside a string.
	ranOut
	inText
	// foreign means a construct of another language, which only the parser knows.
	foreign
)

// state is the state of an automaton at a place in a text. It can be copied freely, since brackets never change.
type state struct {
	pos   int
	want  want
	top   *bracket
	depth int
	// members are those of the innermost object, latest first; closed is the latest bracket that was closed inside the innermost
	// one; given is where the value of the latest member begins.
	members *member
	closed  *bracket
	given   int
	// shape is what the next value should be.
	shape *Shape
	// hash identifies all tokens so far. cost weighs repairs that need no decision; misfit counts what contradicts the shape.
	hash         uint64
	cost, misfit int
	// comma is the offset of a comma just read, or -1; last is where the last token before it ended.
	comma, last int
	// text is the last string, scalar the last literal or number, remark the last comment.
	text, scalar, remark span
	// tokens counts the tokens so far.
	tokens int
}

// span is a token. key is true for the name of a member, odd for a string that JSON's quotes do not enclose.
type span struct {
	at, end  int
	key, odd bool
}

// bracket is an opening bracket of the value; it never changes.
type bracket struct {
	mark  byte
	at    int
	up    *bracket
	shape *Shape
	// begin is the state before the bracket; members are those that an object had when it was closed.
	begin   *state
	members *member
}

// member is a key of an object, with the place of its comma.
type member struct {
	name  string
	comma int
	up    *member
}

// maxMembers limits how far back a repeated key is searched.
const maxMembers = 64

// find returns the member with a name among the last maxMembers.
func (m *member) find(name string) *member {
	for i := 0; m != nil && i < maxMembers; i, m = i+1, m.up {
		if m.name == name {
			return m
		}
	}
	return nil
}

// automaton reads the structure of one value. It accepts mistakes with only one meaning, such as a trailing comma or a key without
// quotes, treats quotes as JSON does, and stops where the structure breaks.
type automaton struct {
	state
	src   string
	ahead *lookahead
	stop  stop
	// twice is the offset up to which a repeated key is accepted; -1 accepts all.
	twice int
	// recent are the last states before a token, if they are kept.
	recent *[]state
	// limit is the maximum depth.
	limit int
}

// newAutomaton returns an automaton at an offset of a text.
func newAutomaton(o *Options, src string, at int, shape *Shape) *automaton {
	return &automaton{
		src: src, ahead: &lookahead{opts: o, src: src}, limit: o.MaxDepth, twice: -1,
		state: state{pos: at, comma: -1, last: at, shape: shape, hash: hashStart, text: span{at: -1}, scalar: span{at: -1}, remark: span{at: -1}},
	}
}

const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// mix adds a token to the hash.
func (a *automaton) mix(kind byte, token string) {
	h := (a.hash ^ uint64(kind)) * hashPrime
	for i := range len(token) {
		h = (h ^ uint64(token[i])) * hashPrime
	}
	a.hash = h
	a.ahead.steps += len(token)
	a.tokens++
}

// maxRecent is how many states are kept to go back to.
const maxRecent = 12

// run reads until the automaton stops.
func (a *automaton) run() {
	for a.stop == running {
		a.ahead.steps++
		if a.recent != nil {
			a.remember()
		}
		a.blank()
		switch {
		case a.pos >= len(a.src) || a.ahead.frameEnds(a.pos):
			a.stop = ranOut
		case a.want == wantKey:
			a.key()
		case a.want == wantColon:
			a.colon()
		case a.want == wantValue:
			a.value()
		default:
			a.next()
		}
	}
}

// remember keeps the present state.
func (a *automaton) remember() {
	list := *a.recent
	if len(list) >= 2*maxRecent {
		list = append(list[:0], list[maxRecent:]...)
	}
	*a.recent = append(list, a.state)
}

// blank skips white space and comments.
func (a *automaton) blank() {
	for a.pos < len(a.src) {
		a.pos = a.ahead.blanks(a.pos)
		if a.pos >= len(a.src) || !a.mayComment() {
			return
		}
		size := a.ahead.comment(a.pos, a.want == wantValue && a.top != nil && a.top.mark == '{')
		if size == 0 {
			return
		}
		a.remark = span{at: a.pos, end: a.pos + size}
		a.pos += size
	}
}

// mayComment reports whether a comment can start here.
func (a *automaton) mayComment() bool {
	c := a.src[a.pos]
	return c == '/' || c == '#' || c == '<'
}

// key reads the name of a member or the end of the object.
func (a *automaton) key() {
	r, size := runeAt(a.src, a.pos)
	switch mark := markOf(r); {
	case quoteOf(r) != noQuote:
		a.string(true)
	case mark == '}':
		a.pop(size)
	case mark == ',':
		a.pos += size
	case mark != 0:
		a.stop = broken
	case a.ahead.dots(a.pos) > 0:
		a.stop = foreign
	default:
		a.bareKey()
	}
}

// bareKey reads a key without quotes.
func (a *automaton) bareKey() {
	end := a.pos
	for {
		r, size := runeAt(a.src, end)
		if size == 0 || !isWord(r) {
			break
		}
		end += size
	}
	a.ahead.steps += end - a.pos
	name := a.src[a.pos:end]
	if _, size := a.ahead.sepAt(a.ahead.blanks(end)); name == "" || size == 0 {
		a.stop = broken
		if a.calls(name, end) {
			a.stop = foreign
		}
		return
	}
	a.named(name, span{at: a.pos, end: end, key: true})
}

// named ends the key of a member. A repeated one stops the automaton unless it was accepted.
func (a *automaton) named(name string, at span) {
	top := a.top
	if a.members.find(name) != nil {
		if a.twice >= 0 && at.at > a.twice {
			a.stop = broken
			return
		}
		a.cost += costRepeated
	}
	part, known := top.shape.member(name)
	if !known {
		a.misfit++
	}
	a.shape = part
	a.members = &member{name: name, comma: a.comma, up: a.members}
	a.mix('k', name)
	a.text, a.last, a.comma = at, at.end, -1
	a.pos, a.want = at.end, wantColon
}

// colon reads the separator between key and value.
func (a *automaton) colon() {
	_, size := a.ahead.sepAt(a.pos)
	if size == 0 {
		a.stop = broken
		return
	}
	a.pos += size
	a.want = wantValue
}

// next reads what follows a value.
func (a *automaton) next() {
	r, size := runeAt(a.src, a.pos)
	switch mark := markOf(r); {
	case mark == ',':
		a.comma = a.pos
		a.pos += size
		a.again()
	case isCloser(mark):
		a.pop(size)
	case r == '+':
		a.stop = foreign
	case a.separable():
		a.cost += costComma
		a.again()
	default:
		a.stop = broken
	}
}

// again expects another element.
func (a *automaton) again() {
	if a.want = wantKey; a.top.mark != '{' {
		a.want, a.shape = wantValue, a.top.shape.element()
	}
}

// separable reports whether nothing but a comma can be missing here.
func (a *automaton) separable() bool {
	apart := a.ahead.broken(a.last, a.pos)
	r, _ := runeAt(a.src, a.pos)
	if a.top.mark == '{' {
		if r != '"' || !a.ahead.memberAt(a.pos) {
			return false
		}
		name := a.src[a.pos+1 : a.pos+1+strings.IndexByte(a.src[a.pos+1:], '"')]
		_, known := a.top.shape.member(name)
		return known && a.members.find(name) == nil
	}
	texts := quoteOf(r) != noQuote && a.text.end == a.last
	return a.ahead.startsValue(a.pos) && a.pos > a.last && (!texts || apart)
}

// begin counts a misfit if the shape does not allow the type of a value that begins.
func (a *automaton) begin(kind kinds, at int) {
	if !a.shape.allows(kind) {
		a.misfit++
	}
	if a.top != nil && a.top.mark == '{' {
		a.given = at
	}
}

// odd reports whether the automaton stopped at a string whose quotes are not JSON's and do not end it clearly.
func (a *automaton) odd() bool {
	if t := a.text; a.stop == inText {
		return t.odd
	} else if t.at < 0 || !t.odd || t.end != a.last && t.end != a.pos {
		return false
	}
	return !strings.HasPrefix(a.src[a.text.at:], "'")
}

// done ends a value.
func (a *automaton) done() {
	a.want, a.last, a.comma = wantNext, a.pos, -1
	if a.top == nil {
		a.stop = finished
	}
}

// push opens a bracket.
func (a *automaton) push(mark byte, size int) {
	if a.depth >= a.limit {
		a.stop = foreign
		return
	}
	before := a.state
	kind := kindObject
	if mark == '[' {
		kind = kindArray
	}
	a.begin(kind, a.pos)
	a.mix(mark, "")
	a.top = &bracket{mark: mark, at: a.pos, up: a.top, shape: a.shape, begin: &before}
	a.members, a.closed = nil, nil
	a.depth++
	a.pos += size
	a.last, a.comma = a.pos, -1
	a.want = wantKey
	if mark == '[' {
		a.want, a.shape = wantValue, a.top.shape.element()
	}
}

// pop closes the innermost bracket if the closer matches it and the value does not continue after it.
func (a *automaton) pop(size int) {
	r, _ := runeAt(a.src, a.pos)
	top := a.top
	if slot(markOf(r)) != slot(top.mark) || top.up == nil && top.mark == '{' && a.goesOn(a.pos+size) {
		a.stop = broken
		return
	}
	if top.mark == '{' && top.shape != nil {
		for _, name := range top.shape.required {
			if a.members.find(name) == nil {
				a.misfit++
			}
		}
	}
	a.mix('}', "")
	done := *top
	done.members = a.members
	a.top, a.members, a.closed, a.given = top.up, top.begin.members, &done, top.at
	a.depth--
	a.pos += size
	a.done()
}

// goesOn reports whether members follow after the end of the outermost object.
func (a *automaton) goesOn(at int) bool {
	at = a.ahead.blanks(at)
	return at < len(a.src) && a.src[at] == ',' && a.ahead.quotedKeyAt(a.ahead.blanks(at+1))
}
