package program

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// output keeps the beginning and the end of a stream and passes it on in whole characters. Secrets are removed first.
type output struct {
	said     func(text string)
	redactor *redact.Stream
	flood    func() // Called once, when more than MostPrinted bytes have arrived.

	first, last []byte
	printed     int // Bytes received, including secrets.
	kept        int // Bytes received, without secrets.
	told        int // Bytes passed on.
	cut         []byte
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	if before := o.printed; before <= MostPrinted && before+len(p) > MostPrinted {
		o.flood()
	}
	o.printed += len(p)
	o.take(o.redactor.Feed(string(p)))
	return len(p), nil
}

func (o *output) take(text string) {
	o.kept += len(text)
	o.tell(text)
	room := MostShown/2 - len(o.first)
	o.first = append(o.first, text[:min(room, len(text))]...)
	o.last = append(o.last, text[min(room, len(text)):]...)
	if len(o.last) > 4*MostShown {
		o.last = append(o.last[:0], o.last[len(o.last)-MostShown/2:]...)
	}
}

// tell passes text on, except the beginning of a character that was cut.
func (o *output) tell(text string) {
	if o.said == nil || o.told >= mostSaid {
		return
	}
	whole := append(o.cut, text...)
	end := len(whole)
	for cut := 1; cut < utf8.UTFMax && cut <= len(whole); cut++ {
		if b := whole[len(whole)-cut]; utf8.RuneStart(b) {
			if !utf8.FullRune(whole[len(whole)-cut:]) {
				end = len(whole) - cut
			}
			break
		}
	}
	o.cut = append([]byte(nil), whole[end:]...)
	if end > 0 {
		o.told += end
		o.said(strings.ToValidUTF8(string(whole[:end]), "\uFFFD"))
	}
}

// text returns what is kept, with a line in place of what was left out.
func (o *output) text() string {
	o.take(o.redactor.Flush())
	last := o.last
	left := o.kept - len(o.first) - len(last)
	if len(last) > MostShown/2 {
		left += len(last) - MostShown/2
		last = last[len(last)-MostShown/2:]
	}
	if left == 0 {
		return strings.ToValidUTF8(string(o.first)+string(last), "\uFFFD")
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes left out]\n%s", o.first, left, last), "\uFFFD")
}
