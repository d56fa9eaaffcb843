package lenient

// behind doubts a valid value that is followed by a comma, which suggests that more was meant to follow.
func (s *scanner) behind(at int) *Doubt {
	if at = s.p.ahead.blanks(at); !s.opts.examine || at >= len(s.src) || s.src[at] != ',' {
		return nil
	}
	next := s.p.ahead.blanks(at + 1)
	if next < len(s.src) && s.src[next] != '"' && !isOpener(s.src[next]) {
		return nil
	}
	return &Doubt{At: at, Expected: "the JSON ends here, but more of it follows"}
}

// mend reads the value at an offset by trying the possible repairs. It returns false if the parser has to read the value by its own
// rules; the result is then a guess, unless only constructs of another language are in the way.
func (s *scanner) mend(start int) (Value, bool) {
	m := mend(s.opts, s.src, start, maxWork*(len(s.src)+64)-s.work)
	s.work += m.steps
	s.p.ahead.steps += m.steps
	if !m.ok {
		s.unmended = m.doubt
		return Value{}, false
	}
	p := newParser(s.opts, m.src)
	p.reset(start, false)
	p.strings.trusted = len(m.src)
	p.run()
	s.p.ahead.steps += p.ahead.steps
	s.p.out, s.p.round, s.p.notes, s.p.cut, s.p.deep = append(s.p.out[:0], p.out...), p.round, nil, p.cut, p.deep
	value := Value{Start: start, End: m.original(p.pos), Cut: p.cut, doubt: m.doubt, risk: risky(p.notes)}
	for _, note := range p.notes {
		note.At = m.original(note.At)
		value.Notes = append(value.Notes, note)
	}
	value.Notes = append(value.Notes, m.notes...)
	return value, true
}
