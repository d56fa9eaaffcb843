package knowledge

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	textunicode "golang.org/x/text/encoding/unicode"
)

// Encodings of documents, as Decode names them.
const (
	UTF8        = "UTF-8"
	UTF16       = "UTF-16"
	GB18030     = "GB18030"
	Windows1252 = "Windows-1252" // A superset of Latin-1.
)

// ErrBinary means that a document is not text in a known encoding.
var ErrBinary = errors.New("it is not text")

// Decode returns a document as UTF-8 without byte order mark, and its encoding. UTF-16 needs its byte order mark. Bytes that are
// neither UTF-8 nor UTF-16 are GB18030 if all of them are valid there and most characters are frequent Chinese ones, else Windows-1252
// if they contain no control characters and mostly letters. Errors: ErrBinary.
func Decode(data []byte) (text, name string, err error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		text, err := decodeAs(data, textunicode.UTF16(textunicode.LittleEndian, textunicode.ExpectBOM))
		if err != nil || !printable(text) {
			return "", "", ErrBinary
		}
		return text, UTF16, nil
	case utf8.Valid(data):
		text := strings.TrimPrefix(string(data), "\uFEFF")
		if !printable(text) {
			return "", "", ErrBinary
		}
		return text, UTF8, nil
	case bytes.IndexByte(data, 0) >= 0:
		return "", "", ErrBinary
	}
	if text, err := decodeAs(data, simplifiedchinese.GB18030); err == nil && printable(text) && chinese(data) {
		return text, GB18030, nil
	}
	if text, err := windows1252(data); err == nil && printable(text) && wordy(text) {
		return text, Windows1252, nil
	}
	return "", "", ErrBinary
}

// decodeAs decodes strictly: a byte that the encoding does not have is an error.
func decodeAs(data []byte, e encoding.Encoding) (string, error) {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", err
	}
	if bytes.ContainsRune(out, utf8.RuneError) {
		return "", ErrBinary
	}
	return string(out), nil
}

// upper are the characters of Windows-1252 from 0x80 to 0x9F, where it differs from Latin-1. Five bytes have none.
var upper = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

// windows1252 decodes strictly, as decodeAs does. The package charmap would add tables of forty encodings to every program.
func windows1252(data []byte) (string, error) {
	var b strings.Builder
	for _, c := range data {
		r := rune(c)
		if c >= 0x80 && c < 0xA0 {
			r = upper[c-0x80]
		}
		if r == utf8.RuneError {
			return "", ErrBinary
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// printable reports whether a text has no control characters besides white space, as binary files have.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return c < ' ' && !strings.ContainsRune("\t\n\r\f\v\b\x1b", c) || c >= 0x7F && c < 0xA0 && c != 0x85
	})
}

// chinese reports whether most pairs of bytes are frequent Chinese characters or punctuation: those of the first level of GB 2312.
// Letters with accents in European texts, read as GB18030, are pairs of an accented and a plain letter, or rare characters.
func chinese(data []byte) bool {
	frequent, rare := 0, 0
	for i := 0; i < len(data); i++ {
		if data[i] < 0x80 {
			continue
		}
		lead, trail := data[i], byte(0)
		if i++; i < len(data) {
			trail = data[i]
		}
		if trail >= 0xA1 && (lead >= 0xB0 && lead <= 0xD7 || lead >= 0xA1 && lead <= 0xA3) {
			frequent++
		} else {
			rare++
		}
	}
	return frequent > 4*rare
}

// wordy reports whether most characters beyond ASCII are letters inside of words that have other letters, as in European languages.
func wordy(text string) bool {
	letters, other := 0, 0
	plain := 0
	for _, c := range text {
		switch {
		case c < 0x80 && unicode.IsLetter(c):
			plain++
		case c < 0x80:
		case unicode.IsLetter(c), strings.ContainsRune("‘’“”„‚–—…«»€°§ ·•", c):
			letters++
		default:
			other++
		}
	}
	return letters > 2*other && plain > letters
}
