package clip

import "unicode/utf8"

// Text gives the beginning of a text, at most so many bytes and whole characters only.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Marked is Text with "…" behind a text that was cut, which comes on top of the bytes.
func Marked(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Text(text, most) + "…"
}
