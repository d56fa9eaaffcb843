package lenient

// want is what the grammar expects next.
type want byte

const (
	wantValue want = iota
	wantKey
	wantColon
	wantNext
)

// frame is one open bracket.
type frame struct {
	// mark is '{', '[', or '(' for a tuple; at is the position of its bracket in the output.
	mark byte
	at   int
	// n counts the elements written in it; member is the length of the output before the last one.
	n, member int
	// doubled counts braces that were doubled, as templates do; each needs a second closing one.
	doubled int
	// comma is true if a comma was just read, commas if any was.
	comma, commas bool
}

// parser reads one value from one place of the text, without recursion. It writes compact JSON as it goes, so that at any
// moment the output plus the missing closers is valid. It implements the grammar; lookahead and stringReader are its
// helpers.
type parser struct {
	opts    *Options
	ahead   *lookahead
	strings stringReader
	src     string
	pos     int
	out     []byte
	// stack holds the open brackets; open counts them by closer.
	stack []frame
	open  [3]int
	want  want
	// joinable is true if the last value was a string that a further piece may extend.
	joinable bool
	notes    Notes
	// strict makes the first repair a failure, to find out whether the text needs any.
	strict, failed bool
	// ended means that the value is complete, cut that the text ended in it, deep that it is nested too deep.
	ended, cut, deep bool
	// round is true if there were round brackets, which leave blanks in the output.
	round bool
	// headless is true if the outermost brace was inserted.
	headless bool
}

// newParser returns a parser of a text; reset moves it to a value.
func newParser(opts *Options, src string) parser {
	return parser{opts: opts, src: src, ahead: &lookahead{opts: opts, src: src}}
}

// reset prepares the parser for the value at an offset.
func (p *parser) reset(at int, strict bool) {
	*p = parser{
		opts: p.opts, ahead: p.ahead, src: p.src, pos: at, strict: strict, out: p.out[:0], stack: p.stack[:0],
		strings: stringReader{p: p, closed: at},
	}
}

// note records a repair; in strict mode it fails.
func (p *parser) note(kind Kind, at int) {
	if p.strict {
		p.failed = true
		return
	}
	p.notes.add(kind, at)
}

// top returns the innermost open bracket, or nil.
func (p *parser) top() *frame {
	if len(p.stack) == 0 {
		return nil
	}
	return &p.stack[len(p.stack)-1]
}

// inObject reports whether the innermost bracket is a brace.
func (p *parser) inObject() bool {
	top := p.top()
	return top != nil && top.mark == '{'
}

// run reads until the value is complete, cut or given up.
func (p *parser) run() {
	for !p.ended && !p.failed && !p.deep {
		p.ahead.steps++
		p.space()
		if p.failed {
			return
		}
		if p.pos >= len(p.src) {
			p.cutOff()
			return
		}
		if !p.strict && p.ahead.frameEnds(p.pos) {
			p.closeAll(MissingCloser)
			return
		}
		switch p.want {
		case wantKey:
			p.key()
		case wantColon:
			p.colon()
		case wantValue:
			p.value()
		case wantNext:
			p.next()
		}
	}
}

// value reads the start of a value.
func (p *parser) value() {
	r, size := runeAt(p.src, p.pos)
	mark, top := markOf(r), p.top()
	switch {
	case quoteOf(r) != noQuote:
		p.begin()
		p.strings.read(false)
	case isOpener(mark):
		p.push(mark, r, size)
	case isCloser(mark) && top != nil && top.mark != '{':
		p.closer(mark, r, size)
	case isCloser(mark) || mark == ',' && p.inObject():
		p.null(MissingValue)
	case mark == ',' && top != nil:
		p.skip(ExtraComma, size)
	case mark != 0:
		p.skip(Junk, size)
	case p.ahead.payload(p.pos):
		p.rawPayload(p.pos)
	case p.ahead.dots(p.pos) > 0:
		p.ellipsis()
	default:
		p.word()
	}
}

// next reads what follows a value.
func (p *parser) next() {
	r, size := runeAt(p.src, p.pos)
	mark, top := markOf(r), p.top()
	switch {
	case mark == ',':
		if r != ',' {
			p.note(Punctuation, p.pos)
		}
		p.pos += size
		top.comma, top.commas = true, true
		p.want = wantValue
		if top.mark == '{' {
			p.want = wantKey
		}
	case isCloser(mark):
		p.closer(mark, r, size)
	case p.strings.joins(r, size):
		p.strings.join()
	case p.inObject() && p.ahead.keyAt(p.pos):
		p.note(MissingComma, p.pos)
		p.want = wantKey
	case !p.inObject() && p.ahead.startsValue(p.pos):
		p.note(MissingComma, p.pos)
		p.want = wantValue
	default:
		p.junk(size)
	}
}

// begin makes room for an element of an array; a member of an object began with its key.
func (p *parser) begin() {
	if top := p.top(); top != nil && top.mark != '{' {
		p.element(top)
	}
}

// element starts the next element or member.
func (p *parser) element(top *frame) {
	top.member = len(p.out)
	if top.n > 0 {
		p.out = append(p.out, ',')
	}
	top.n++
	top.comma = false
}

// done ends a value.
func (p *parser) done(text bool) {
	p.joinable = text
	p.want = wantNext
	p.ended = len(p.stack) == 0
}

// null writes null for a missing value and does not move: the next step reads what is here.
func (p *parser) null(kind Kind) {
	p.note(kind, p.pos)
	if top := p.top(); top == nil {
		p.failed = true
		return
	}
	p.begin()
	p.out = append(p.out, "null"...)
	p.done(false)
}

// skip removes what is at the present position.
func (p *parser) skip(kind Kind, size int) {
	p.note(kind, p.pos)
	p.pos += size
}

// junk removes a rune and the rest of the word that it begins.
func (p *parser) junk(size int) {
	p.note(Junk, p.pos)
	p.pos += size
	for {
		r, size := runeAt(p.src, p.pos)
		if size == 0 || !isWord(r) {
			return
		}
		p.ahead.steps++
		p.pos += size
	}
}

// ellipsis removes dots, and the name after the dots of a spread.
func (p *parser) ellipsis() {
	if p.want == wantValue && p.inObject() {
		p.null(Ellipsis)
	} else {
		p.note(Ellipsis, p.pos)
	}
	p.pos += p.ahead.dots(p.pos)
	for {
		r, size := runeAt(p.src, p.pos)
		if size == 0 || !isWord(r) && r != '…' {
			break
		}
		p.ahead.steps++
		p.pos += size
	}
	if p.want == wantNext || p.top() == nil {
		return
	}
	if at := p.ahead.blanks(p.pos); at < len(p.src) && p.src[at] == ',' {
		p.pos = at + 1
	}
}
