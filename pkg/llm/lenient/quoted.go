package lenient

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendText appends text as the content of a JSON string, without the quotes around.
func appendText(out []byte, text string) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		}
		out = appendByte(out, c)
		i++
	}
	return out
}

// appendByte appends one ASCII character as the content of a JSON string.
func appendByte(out []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(out, '\\', c)
	case c == '\n':
		return append(out, '\\', 'n')
	case c == '\t':
		return append(out, '\\', 't')
	case c == '\r':
		return append(out, '\\', 'r')
	case c < 0x20:
		return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(out, c)
}
