package knowledge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word that is indexed, in bytes; a longer one is cut, so that encoded data costs little.
const maxWord = 48

// Words calls yield for the words of a text as they are indexed: runs of letters, marks and digits in lower case, without an English
// plural; for scripts that put no space between words (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) each pair of neighbouring
// characters, and a single character that has no neighbour. The slice is valid until yield returns.
func Words(text string, yield func(word []byte)) {
	var word [maxWord + utf8.UTFMax]byte
	n := 0 // The number of bytes of the current word.
	flush := func() {
		if n > 0 {
			yield(singular(word[:n]))
		}
		n = 0
	}
	var before rune // The previous character of a script without spaces; 0 for none.
	paired := false // Whether that one was part of a pair.
	single := func() {
		if before != 0 && !paired {
			yield(utf8.AppendRune(word[:0], before))
		}
		before, paired = 0, false
	}
	for _, c := range text {
		switch {
		case c < utf8.RuneSelf:
			single()
			switch {
			case c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
				fallthrough
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
				if n < maxWord {
					word[n] = byte(c)
					n++
				}
			default:
				flush()
			}
		case unspaced(c):
			flush()
			if before != 0 {
				yield(utf8.AppendRune(utf8.AppendRune(word[:0], before), c))
				paired = true
			}
			before = c
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c):
			single()
			if n < maxWord {
				n += utf8.EncodeRune(word[n:], unicode.ToLower(c))
			}
		default:
			single()
			flush()
		}
	}
	single()
	flush()
}

// unspaced reports whether a character belongs to a script without spaces between words.
func unspaced(c rune) bool {
	if c < 0x0E00 {
		return false
	}
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// singular removes the ending of an English plural: policies and policy, cases and case are one word.
func singular(word []byte) []byte {
	n := len(word)
	switch {
	case n < 4 || word[n-1] != 's' || word[n-2] == 's' || word[n-2] == 'u':
		return word
	case word[n-2] == 'e' && word[n-3] == 'i' && n > 4:
		word[n-3] = 'y'
		return word[:n-2]
	}
	return word[:n-1]
}

// common are words that say nothing about the subject of a text; searches ignore them.
var common = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a an and are as at be by can do does for from has have how i in is it its me my of on or our please
		should so than that the their them then there these they this those to us was we were what when where which who why will with would you your
		der die das den dem des ein eine einen und oder ist sind nicht mit von zu auf für im
		le la les un une des et ou est sont dans pour que qui du de el los las y es en con por del`) {
		set[w] = true
		set[string(singular([]byte(w)))] = true
	}
	return set
}()
