// Package lenient is JSON repair: it reads JSON out of what a model wrote, in a fence or a tag, after thinking, among
// prose, with the mistakes that models make.
//
// Promises: time is linear in the text; depth and size are bounded. Valid JSON comes back as the same value, byte for byte
// once white space is dropped; nothing inside a well-formed string is ever changed, whatever its script. Without an error
// the result is valid JSON. Notes lists every repair with its offset. Text without JSON and text that was cut give
// different errors; what could be closed of a cut text comes with the error.
//
// Examine also says how far the value can be trusted. Where the structure breaks, it tries the few possible repairs of that
// place: a quote, a brace, a comma or a colon is missing, is superfluous or belongs to a text, or a comment ends there. It
// chooses by what makes the rest read, by the Shape that the caller expects, and by how likely each mistake is. If two
// repairs are as likely, if a text may be cut, or if the search would exceed its bounds (8 candidates a place, 4 KiB of
// look-ahead, 32 times the text), the value is a guess, and the place is named. Callers act on no guess.
//
// It never validates against a schema (the caller's Fits does), keeps state, or does any I/O.
//
// Choices where JSON has no answer: a repeated member is kept twice, in order (readers in Go take the last); NaN, Infinity,
// undefined and None become null; a hole in an array is closed; a member without a value becomes null, or is left out where
// the text was cut; a number in an odd form becomes the plain number that it stands for; payload markers are resolved only
// if the text is not valid JSON as it stands.
package lenient
