package bus

import (
	"slices"
	"testing"
)

// Each signer's descriptions have their turn; those that only say that they are signed cost their signer none.
func TestDescriptionsTakeTurnsBySigner(t *testing.T) {
	for name, c := range map[string]struct{ forged, want []uint64 }{
		"as they came":  {nil, []uint64{9, 1, 4, 2, 3}},
		"some forged":   {[]uint64{1, 2}, []uint64{9, 1, 2, 3, 4, 1, 2}},
		"all of a key":  {[]uint64{4}, []uint64{9, 1, 4, 4, 2, 3}},
		"all of theirs": {[]uint64{1, 2, 3, 4}, []uint64{9, 1, 2, 3, 4, 1, 2, 3, 4}},
	} {
		all := &turns{keys: []string{"", "A", "B"}, by: map[string][]uint64{"": {9}, "A": {1, 2, 3}, "B": {4}}}
		var got []uint64
		for seq, signed := all.next(); seq > 0; seq, signed = all.next() {
			got = append(got, seq)
			if known := seq == 9 || slices.Contains(got[:len(got)-1], seq); known == signed {
				t.Errorf("%s: %d says that it is signed: %v", name, seq, signed)
			}
			if signed && slices.Contains(c.forged, seq) {
				all.back(seq)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
