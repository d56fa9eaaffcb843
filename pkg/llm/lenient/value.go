package lenient

import "encoding/json"

// Value is one JSON value of a text.
type Value struct {
	// JSON is the value, compact.
	JSON json.RawMessage
	// Notes are the repairs that were made in it.
	Notes Notes
	// Start and End are the byte offsets of what was read.
	Start, End int
	// Cut is true if the text ended inside the value.
	Cut bool

	// doubt is where the value can be read in more than one way.
	doubt *Doubt
	// risk is the first repair of the parser that may be wrong, nil if there is none or nothing was examined.
	risk *Note
	// tagged and fenced say what encloses it; thought is true if it comes from unclosed thinking.
	tagged, fenced, thought bool
	// inner is true if it may be part of a cut value before it, so that only Fits can tell.
	inner bool
}

// inside adopts the doubts about a value that was found in an encoded text. Their offsets mean nothing outside of that
// text.
func (v *Value) inside(found *Value) {
	if found.doubt != nil {
		v.doubt = &Doubt{At: v.Start, Expected: found.doubt.Expected}
	}
	if found.risk != nil {
		v.risk = &Note{Kind: found.risk.Kind, At: v.Start, Count: 1}
	}
}

// choose picks the value that the text is about: the best that fits, and of equally good ones the last. If fits accepts
// none, it returns an error.
func choose(found []Value, fits func(json.RawMessage) bool) (Value, error) {
	best, score := -1, -1
	for i := len(found) - 1; i >= 0; i-- {
		value := &found[i]
		if s := value.score(fits != nil); s > score && (fits == nil || fits(value.JSON)) {
			best, score = i, s
		}
	}
	if best < 0 {
		value, err := choose(found, nil)
		if err == nil {
			err = ErrNoFit
		}
		return value, err
	}
	if found[best].Cut {
		return found[best], ErrTruncated
	}
	return found[best], nil
}

// score ranks candidates by likelihood. If the caller has a Fits, their kind and frame do not matter.
func (v *Value) score(asked bool) int {
	score := 0
	for _, is := range [...]struct {
		true bool
		adds int
	}{
		{!v.thought, 64}, {v.tagged, 32}, {!v.Cut, 4}, {v.fenced && !asked, 1}, {!v.inner && !asked, 128},
	} {
		if is.true {
			score += is.adds
		}
	}
	if !asked {
		score += 8 * v.weight()
	}
	return score
}

// weight distinguishes an answer from brackets in prose: a remark, a source number, a tick box.
func (v *Value) weight() int {
	switch {
	case len(v.JSON) <= 2:
		return 0
	case v.JSON[0] == '{':
		return 2
	case v.JSON[0] != '[':
		return 1
	case v.JSON[1] == '{' || v.JSON[1] == '[':
		return 2
	case isDigit(v.JSON[1]) && len(v.JSON) <= 5 && !v.fenced:
		return 0
	}
	return 1
}
