package lenient

// slot returns the index of a bracket in the counts of open ones.
func slot(mark byte) int {
	switch mark {
	case '{', '}':
		return 0
	case '[', ']':
		return 1
	}
	return 2
}

// push opens a bracket. A round one is written as an array, unless it turns out to enclose one value only.
func (p *parser) push(mark byte, r rune, size int) {
	if len(p.stack) >= p.opts.MaxDepth {
		p.deep = true
		return
	}
	if rune(mark) != r {
		p.note(Punctuation, p.pos)
	}
	if mark == '(' {
		p.note(Wrapper, p.pos)
		p.round = true
	}
	p.begin()
	p.pos += size
	p.open[slot(mark)]++
	p.stack = append(p.stack, frame{mark: mark, at: len(p.out)})
	p.want = wantValue
	switch mark {
	case '{':
		p.want = wantKey
		p.out = append(p.out, '{')
	case '[':
		p.out = append(p.out, '[')
	default:
		p.out = append(p.out, ' ')
	}
}

// pop writes the closer of the innermost bracket.
func (p *parser) pop() {
	top := *p.top()
	p.stack = p.stack[:len(p.stack)-1]
	p.open[slot(top.mark)]--
	switch {
	case top.mark == '{':
		p.out = append(p.out, '}')
	case top.mark == '(' && top.n == 1 && !top.commas:
		// One value in round brackets is that value.
	case top.mark == '(':
		p.out[top.at] = '['
		p.out = append(p.out, ']')
	default:
		p.out = append(p.out, ']')
	}
	p.done(false)
}

// closer reads a closing bracket: of the innermost bracket, of an outer one, or of none.
func (p *parser) closer(mark byte, r rune, size int) {
	if rune(mark) != r {
		p.note(Punctuation, p.pos)
	}
	top := p.top()
	if top.comma {
		p.note(ExtraComma, p.pos)
		top.comma = false
	}
	switch {
	case slot(top.mark) == slot(mark) && top.doubled > 0 && p.again(mark, size):
		top.doubled--
		p.skip(ExtraCloser, size)
	case slot(top.mark) == slot(mark) && len(p.stack) == 1 && p.goesOn(p.pos+size):
		p.skip(ExtraCloser, size)
	case slot(top.mark) == slot(mark):
		p.pos += size
		p.pop()
	case p.open[slot(mark)] == 0 || p.extra(mark, size):
		p.skip(ExtraCloser, size)
	default:
		for slot(p.top().mark) != slot(mark) {
			p.ahead.steps++
			p.note(MissingCloser, p.pos)
			p.pop()
		}
	}
}

// again reports whether the same closer follows at once.
func (p *parser) again(mark byte, size int) bool {
	r, _ := runeAt(p.src, p.ahead.blanks(p.pos+size))
	return markOf(r) == mark
}

// goesOn reports whether members follow after the brace that would end the value, which means that the brace is
// superfluous.
func (p *parser) goesOn(at int) bool {
	if p.strict || p.stack[0].mark != '{' {
		return false
	}
	at = p.ahead.blanks(at)
	return at < len(p.src) && p.src[at] == ',' && p.ahead.quotedKeyAt(p.ahead.blanks(at+1))
}

// extra reports whether a brace that would close an object while an array in it is still open is superfluous: it is if more
// elements or the bracket of the array follow. Otherwise the bracket is what is missing.
func (p *parser) extra(mark byte, size int) bool {
	if mark != '}' || p.top().mark == '{' {
		return false
	}
	at := p.ahead.blanks(p.pos + size)
	r, width := runeAt(p.src, at)
	switch markOf(r) {
	case ']':
		return true
	case ',':
		at = p.ahead.blanks(at + width)
		return at < len(p.src) && !p.ahead.keyAt(at) && p.ahead.startsValue(at)
	}
	return false
}

// cutOff ends a value where the text ends, leaving out a member without a value.
func (p *parser) cutOff() {
	if p.strict {
		p.failed = true
		return
	}
	if p.headless && len(p.stack) == 1 && p.want == wantNext {
		p.closeAll(MissingCloser)
		return
	}
	p.cut = true
	p.closeAll(Cut)
}

// closeAll closes every open bracket.
func (p *parser) closeAll(kind Kind) {
	if top := p.top(); top == nil {
		p.failed = true
		return
	} else if top.mark == '{' && (p.want == wantColon || p.want == wantValue) {
		p.note(MissingValue, p.pos)
		p.out = p.out[:top.member]
		top.n--
	}
	for len(p.stack) > 0 {
		p.ahead.steps++
		p.note(kind, p.pos)
		p.pop()
	}
}
