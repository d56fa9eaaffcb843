package knowledge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
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
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return decodeUTF16(data[2:], binary.BigEndian)
	case utf8.Valid(data):
		text := strings.TrimPrefix(string(data), "\uFEFF")
		if !printable(text) {
			return "", "", ErrBinary
		}
		return text, UTF8, nil
	case bytes.IndexByte(data, 0) >= 0:
		return "", "", ErrBinary
	}
	if text, err := simplifiedchinese.GB18030.NewDecoder().Bytes(data); err == nil && whole(string(text)) && chinese(data) {
		return string(text), GB18030, nil
	}
	if text := decodeWindows(data); printable(text) && wordy(text) {
		return text, Windows1252, nil
	}
	return "", "", ErrBinary
}

func decodeUTF16(data []byte, order binary.ByteOrder) (text, name string, err error) {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	if text = string(utf16.Decode(units)); len(data)%2 != 0 || !whole(text) {
		return "", "", ErrBinary
	}
	return text, UTF16, nil
}

// windows are the characters of Windows-1252 from 0x80 to 0x9F; all others are those of Unicode.
var windows = [...]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8D, 'Ž', 0x8F,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9D, 'ž', 'Ÿ',
}

func decodeWindows(data []byte) string {
	text := make([]rune, len(data))
	for i, b := range data {
		text[i] = rune(b)
		if b >= 0x80 && b < 0xA0 {
			text[i] = windows[b-0x80]
		}
	}
	return string(text)
}

// whole reports whether a text is printable and every byte of it belonged to the encoding.
func whole(text string) bool { return printable(text) && !strings.ContainsRune(text, utf8.RuneError) }

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
