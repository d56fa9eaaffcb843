// Package lenient is JSON repair: it reads JSON out of what a model wrote, in a fence or a tag, after thinking, among prose, with the
// mistakes that models make.
//
// What it promises: time linear in the text, and bounded depth and size. Text that is valid JSON comes back as the same
// value, byte for byte once white space is dropped; nothing inside a well-formed string is ever touched, whatever its
// script. Without an error the result is valid JSON. Every repair is told in Notes with its offset. Text without JSON
// and text that was cut are different errors, and what could be closed of a cut text is handed back with the error.
//
// What it never does: guess what a value ought to mean, validate against a schema (the caller's Fits does), keep state,
// or do any I/O.
//
// Choices where JSON has no answer: a member that is named twice is kept twice, in order (readers in Go take the last);
// NaN, Infinity, undefined and None become null; a hole in an array is closed; a member without a value becomes null,
// or is left out where the text was cut; a number with an odd form becomes the plain number it stands for; payload
// markers are resolved only where the text is not valid JSON as it stands.
package lenient
