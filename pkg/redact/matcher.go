package redact

import (
	"slices"
	"strings"
)

// block is how many bytes determine how far the search may advance.
const block = 3

// matcher finds the leftmost of many patterns, and the longest of those that begin there. It looks at the end of a window
// as wide as the shortest pattern: if no pattern contains those bytes, the window advances by nearly its width (Wu and
// Manber).
type matcher struct {
	patterns []string // The patterns, the longest first.
	width    int      // The length of the shortest pattern.
	longest  int
	shift    []uint8 // How far the window may advance, by the hash of a block; 0 if a pattern may be there.
	ending   map[uint32][]string
	first    [256][]string // The patterns by their first byte, to find prefixes.
	inBase64 map[string]bool
}

const (
	hashBits = 13
	hashMul  = 2654435761
)

func hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * hashMul >> (32 - hashBits)
}

func newMatcher(patterns []string) *matcher {
	patterns = slices.Clone(patterns)
	slices.SortFunc(patterns, longestFirst)
	patterns = slices.Compact(patterns)
	m := &matcher{patterns: patterns, longest: len(patterns[0]), width: len(patterns[len(patterns)-1])}
	m.ending, m.inBase64 = map[uint32][]string{}, map[string]bool{}
	m.shift = make([]uint8, 1<<hashBits)
	for i := range m.shift {
		m.shift[i] = uint8(min(255, max(1, m.width-block+1)))
	}
	for _, p := range patterns {
		m.first[p[0]] = append(m.first[p[0]], p)
		for end := block; end <= m.width; end++ {
			h := hash(p[end-3], p[end-2], p[end-1])
			m.shift[h] = min(m.shift[h], uint8(min(255, m.width-end)))
		}
		if m.width >= block {
			h := hash(p[m.width-3], p[m.width-2], p[m.width-1])
			m.ending[h] = append(m.ending[h], p)
		}
	}
	return m
}

// mask returns the replacement of a found pattern.
func (m *matcher) mask(found string) string {
	if m.inBase64[found] {
		return strings.Repeat(within, len(found)/len(within)+1)[:len(found)]
	}
	return Mask
}

// find returns position and length of the first pattern at or after from; the length is 0 if there is none.
func find[T string | []byte](m *matcher, text T, from int) (at, size int) {
	if m.width < block {
		return findShort(m, text, from)
	}
	for i := from; i+m.width <= len(text); {
		end := i + m.width
		h := hash(text[end-3], text[end-2], text[end-1])
		if skip := int(m.shift[h]); skip > 0 {
			i += skip
			continue
		}
		for _, p := range m.ending[h] {
			if begins(text, i, p) {
				return i, len(p)
			}
		}
		i++
	}
	return 0, 0
}

// findShort is like find, for patterns shorter than a block: they occur in tests, not in configurations.
func findShort[T string | []byte](m *matcher, text T, from int) (at, size int) {
	for i := from; i < len(text); i++ {
		for _, p := range m.first[text[i]] {
			if begins(text, i, p) {
				return i, len(p)
			}
		}
	}
	return 0, 0
}

func begins[T string | []byte](text T, at int, p string) bool {
	return len(text)-at >= len(p) && string(text[at:at+len(p)]) == p
}

// open returns where, at the end of a text, something begins that may become a pattern; the text's length if nothing may.
func (m *matcher) open(text string, from int) int {
	for i := max(from, len(text)-m.longest+1); i < len(text); i++ {
		for _, p := range m.first[text[i]] {
			if len(p) > len(text)-i && p[:len(text)-i] == text[i:] {
				return i
			}
		}
	}
	return len(text)
}
