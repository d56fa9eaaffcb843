// Package trust remembers which folders a person trusts, by path and by the digest of what was looked at. It decides nothing about
// their contents and asks no questions.
package trust
