package clip

import "unicode/utf8"

// Text returns the beginning of a text: up to most bytes, in whole characters.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Marked is like Text, with "…" appended to a text that was cut; the mark may exceed the limit.
func Marked(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Text(text, most) + "…"
}
