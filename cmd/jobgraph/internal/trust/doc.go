// Package trust remembers which folders a person trusts, by path and by the digest of what they were shown. It decides nothing
// about the contents and asks no questions.
package trust
