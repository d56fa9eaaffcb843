// Package clip shortens texts to a number of bytes without cutting a character.
package clip
