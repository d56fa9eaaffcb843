package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classes of tokens, as the style sheets of Pygments name them.
const (
	classSpace     = "w"
	classLine      = "c1"
	classComment   = "cm"
	classText      = "s"
	classNumber    = "m"
	classKeyword   = "k"
	classConstant  = "kc"
	className      = "n"
	classFunction  = "nf"
	classPunct     = "p"
	classTag       = "nt"
	classAttribute = "na"
	classEntity    = "ni"
	classHeading   = "gh"
	classPlace     = "gu"
	classInserted  = "gi"
	classDeleted   = "gd"
)

// punctuation are the characters that are coloured as punctuation.
const punctuation = `-+*/%=<>!&|^~?:.,;(){}[]@#\`

// scan is a scanner. The text that it examines beyond the returned token is bounded, or becomes the next tokens: scanning takes
// linear time.
func (l *language) scan(text string) (n int, class string) {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsSpace(first):
		return span(text, unicode.IsSpace), classSpace
	case l.line != "" && strings.HasPrefix(text, l.line):
		return before(text, "\n"), classLine
	case l.from != "" && strings.HasPrefix(text, l.from):
		return through(text, len(l.from), l.to), classComment
	}
	if n := l.key(text); n > 0 {
		return n, classTag
	}
	switch {
	case strings.ContainsRune(l.quotes, first):
		n, _ := quotation(text, false)
		return n, classText
	case strings.ContainsRune(l.long, first):
		n, _ := quotation(text, true)
		return n, classText
	}
	switch n, ok := number(text); {
	case ok:
		return n, classNumber
	case n > 0:
		return n, ""
	case first == '_' || first == '$' || unicode.IsLetter(first):
		n := span(text, func(r rune) bool { return r == '$' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
		return n, l.word(text[:n], text[n:])
	case strings.ContainsRune(punctuation, first):
		return span(text, func(r rune) bool { return strings.ContainsRune(punctuation, r) }), classPunct
	}
	return size, ""
}

// word returns the class of a word, given the text after it.
func (l *language) word(word, rest string) string {
	if l.fold {
		word = strings.ToLower(word)
	}
	class := l.classes[word]
	switch {
	case class != "":
		return class
	case strings.HasPrefix(rest, "("):
		return classFunction
	}
	return className
}

// maxKey limits unquoted keys, in bytes.
const maxKey = 256

// key returns the length of the key at the beginning of a text, 0 if there is none.
func (l *language) key(text string) int {
	if !l.keyed {
		return 0
	}
	if text[0] == '"' {
		n, closed := quotation(text, false)
		if closed && strings.HasPrefix(strings.TrimLeftFunc(text[n:], unicode.IsSpace), ":") {
			return n
		}
		return 0
	}
	n := span(text[:min(len(text), maxKey)], func(r rune) bool { return r == '.' || r == '$' || r == '-' || inWord(r) })
	if rest := strings.TrimLeft(text[n:], " \t"); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
		return n
	}
	return 0
}

// quotation returns the length of a quoted text, and whether it is closed. Unless long is true, it ends with its line.
func quotation(text string, long bool) (n int, closed bool) {
	for n = 1; n < len(text); n++ {
		switch c := text[n]; {
		case c == text[0]:
			return n + 1, true
		case c == '\n' && !long:
			return n, false
		case c == '\\' && (n+1 == len(text) || text[n+1] == '\n' && !long):
			return n, false
		case c == '\\':
			n++
		}
	}
	return len(text), false
}

// number returns the length of the number at the beginning of a text. If ok is false, its first n digits are not a number.
func number(text string) (n int, ok bool) {
	whole := span(text, unicode.IsDigit)
	if whole == 0 {
		return 0, false
	}
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		n := 2 + span(text[2:], func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF_", r) })
		if n > 2 && !inWordAt(text, n) {
			return n, true
		}
	}
	_, last := utf8.DecodeLastRuneInString(text[:whole])
	alone := max(last, whole-last) // A hexadecimal number may begin with the last digit.
	whole += span(text[whole:], func(r rune) bool { return r == '_' || unicode.IsDigit(r) })
	fraction := whole
	if strings.HasPrefix(text[whole:], ".") {
		if n := span(text[whole+1:], unicode.IsDigit); n > 0 {
			fraction += 1 + n
		}
	}
	for _, end := range []int{exponent(text, fraction), fraction, exponent(text, whole), whole} {
		if !inWordAt(text, end) {
			return end, true
		}
	}
	return alone, false
}

// exponent returns the end of the exponent that begins at an offset; the offset if there is none.
func exponent(text string, at int) int {
	if at == len(text) || text[at]|0x20 != 'e' {
		return at
	}
	from := at + 1
	if from < len(text) && (text[from] == '+' || text[from] == '-') {
		from++
	}
	if n := span(text[from:], unicode.IsDigit); n > 0 {
		return from + n
	}
	return at
}

// markup scans HTML and XML.
type markup struct{ inTag bool }

func (m *markup) scan(text string) (n int, class string) {
	if m.inTag {
		return m.tag(text)
	}
	switch {
	case strings.HasPrefix(text, "<!--"):
		return through(text, len("<!--"), "-->"), classComment
	case text[0] == '<':
		at := 1 + len(text[1:]) - len(strings.TrimPrefix(text[1:], "/"))
		if n := span(text[at:], func(r rune) bool { return r == ':' || r == '-' || inWord(r) }); n > 0 {
			m.inTag = true
			return at + n, classTag
		}
		return 1, ""
	case text[0] == '&':
		at := 1 + span(text[1:], func(r rune) bool { return r == '#' || inWord(r) })
		if at > 1 && strings.HasPrefix(text[at:], ";") {
			return at + 1, classEntity
		}
		return 1, ""
	}
	return before(text, "<&"), ""
}

// tag scans the part of a tag after its name.
func (m *markup) tag(text string) (n int, class string) {
	for _, end := range []string{">", "/>"} {
		if strings.HasPrefix(text, end) {
			m.inTag = false
			return len(end), classTag
		}
	}
	if n := span(text, func(r rune) bool { return strings.ContainsRune(":@.-", r) || inWord(r) }); n > 0 {
		return n, classAttribute
	}
	if text[0] == '"' || text[0] == '\'' {
		return through(text, 1, text[:1]), classText
	}
	_, size := utf8.DecodeRuneInString(text)
	return size, ""
}

// difference scans the lines of a unified diff.
func difference(text string) (n int, class string) {
	n = min(len(text), before(text, "\n")+1)
	for _, line := range []struct{ begin, class string }{
		{"@@", classPlace},
		{"+++", classHeading},
		{"---", classHeading},
		{"diff ", classHeading},
		{"index ", classHeading},
		{"+", classInserted},
		{"-", classDeleted},
	} {
		if strings.HasPrefix(text, line.begin) {
			return n, line.class
		}
	}
	return n, ""
}

// span returns how many bytes at the beginning of a text belong to characters of a kind.
func span(text string, of func(rune) bool) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// before returns the offset of the first of some characters, or the length of the text.
func before(text, any string) int {
	if n := strings.IndexAny(text, any); n >= 0 {
		return n
	}
	return len(text)
}

// through returns the end of the first occurrence of a mark from an offset on, or the length of the text.
func through(text string, from int, mark string) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(text)
}

// inWord reports whether a character may be part of a word.
func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Pc)
}

// inWordAt reports whether the character at an offset may be part of a word.
func inWordAt(text string, at int) bool {
	r, size := utf8.DecodeRuneInString(text[at:])
	return size > 0 && inWord(r)
}
