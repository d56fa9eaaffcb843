package knowledge

import (
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// TestEachByteOfWindows1252IsDecoded compares our table with that of the library, which is too large to be linked. Where Windows-1252 has
// no character, both say so.
func TestEachByteOfWindows1252IsDecoded(t *testing.T) {
	for i := range 256 {
		want := charmap.Windows1252.DecodeByte(byte(i))
		got, err := windows1252([]byte{byte(i)})
		if none := want == utf8.RuneError; none != (err != nil) || !none && got != string(want) {
			t.Errorf("0x%X: %q, %v; want %q", i, got, err, want)
		}
	}
}
