package lenient

import (
	"unicode"
	"unicode/utf8"
)

// quote is a family of quotes that may close each other.
type quote byte

// The families. Models mix the members of one family, never two families.
const (
	noQuote quote = iota
	doubleQuote
	singleQuote
	backQuote
	cornerQuote
	whiteCornerQuote
	angleQuote
	singleAngleQuote
)

// quoteOf returns the family of a rune.
func quoteOf(r rune) quote {
	if r > '`' && r < '«' {
		return noQuote
	}
	switch r {
	case '"', '“', '”', '„', '‟', '＂':
		return doubleQuote
	case '\'', '‘', '’', '‚', '‛', '＇':
		return singleQuote
	case '`':
		return backQuote
	case '「', '」':
		return cornerQuote
	case '『', '』':
		return whiteCornerQuote
	case '«', '»':
		return angleQuote
	case '‹', '›':
		return singleAngleQuote
	}
	return noQuote
}

// markOf returns the JSON punctuation that a rune stands for outside strings, including round brackets, or 0.
func markOf(r rune) byte {
	switch r {
	case '{', '}', '[', ']', '(', ')', ',', ':':
		return byte(r)
	case '，', '、', '；', ';', '﹐':
		return ','
	case '：', '∶', '﹕':
		return ':'
	case '｛':
		return '{'
	case '｝':
		return '}'
	case '［', '【':
		return '['
	case '］', '】':
		return ']'
	case '（':
		return '('
	case '）':
		return ')'
	}
	return 0
}

// isOpener and isCloser tell opening from closing brackets.
func isOpener(mark byte) bool { return mark == '{' || mark == '[' || mark == '(' }

func isCloser(mark byte) bool { return mark == '}' || mark == ']' || mark == ')' }

// isPlainSpace reports whether c is white space in JSON.
func isPlainSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// isSpace reports whether a rune is invisible: spaces of any script, control and format characters.
func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return r == '\u3164' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// isWord reports whether a rune can be part of an identifier.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || isDigit(byte(r)) || r == '_' || r == '$' || r == '-' || r == '.' || r == '@'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// runeAt decodes the rune at an offset. Past the end it returns 0 with size 0; a byte that is not UTF-8 has size 1.
func runeAt(s string, at int) (rune, int) {
	if at >= len(s) {
		return 0, 0
	}
	if c := s[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s[at:])
}
