// Package consent has the words by which people accept or reject, in English and Chinese. Every service and the command line read
// them here, so that an answer means the same wherever a person gives it.
//
// It never guesses: a text with any other word decides nothing. It has no state.
package consent
