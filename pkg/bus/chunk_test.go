package bus

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
)

func TestTheListOfChunksIsThatOfTheirSequences(t *testing.T) {
	for text, want := range map[string][]uint64{ // any order: each is checked by itself.
		"7": {7}, "7-9": {7, 8, 9}, "7,9": {7, 9}, "3-4,7,9-11": {3, 4, 7, 9, 10, 11}, "9,3-4": {9, 3, 4}, "5,5": {5, 5}, "18446744073709551614": {math.MaxUint64 - 1},
	} {
		if got := ranges(want); got != text {
			t.Errorf("%v is %q, want %q", want, got, text)
		}
		if got, err := sequences(text, math.MaxUint64); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0-1", "-1", "1-", "2-1", "a", "1,,2", "1;2", "99", "1-99", "98-18446744073709551615", "1-9000"} {
		if got, err := sequences(text, 99); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"1-8193", "1-8192,9", "1-8191,1-2", "1-18446744073709551614"} {
		if _, err := sequences(text, math.MaxUint64); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q, more chunks than a blob has: %v", text, err)
		}
	}
}

// The description of the largest blob fits into a message, however its chunks are scattered.
func TestTheLongestListOfChunksFitsIntoAMessage(t *testing.T) {
	seqs := make([]uint64, maxChunks)
	for i := range seqs {
		seqs[i] = math.MaxUint64 - 1 - 2*uint64(i)
	}
	text := ranges(seqs)
	if got, err := sequences(text, math.MaxUint64); err != nil || !slices.Equal(got, seqs) {
		t.Fatalf("%d of %d sequences came back: %v", len(got), len(seqs), err)
	}
	if room := MaxMessage - len(text); room < 64<<10 {
		t.Errorf("a list of %s bytes leaves %d", strconv.Itoa(len(text)), room)
	}
}
