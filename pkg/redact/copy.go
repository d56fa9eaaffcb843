package redact

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// chunk is how much of a file is processed at once, in bytes.
const chunk = 64 << 10

// Copy copies a text without secrets and reports whether there were any. With sized, each is replaced by as many stars as
// it has bytes, so that the rest keeps its position.
func (r *Redactor) Copy(to io.Writer, from io.Reader, sized bool) (found bool, err error) {
	m := r.matcher()
	if m == nil {
		_, err := io.Copy(to, from)
		return false, err
	}
	room := make([]byte, chunk+2*m.longest)
	for kept, last := 0, false; !last; {
		n, err := io.ReadFull(from, room[kept:])
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return found, err
		}
		text, done := room[:kept+n], 0
		for {
			at, size := find(m, text, done)
			if size == 0 || !last && at > len(text)-m.longest {
				break // A longer one may begin here.
			}
			found = true
			mask := strings.Repeat("*", size)
			if found := string(text[at : at+size]); !sized || m.inBase64[found] {
				mask = m.mask(found)
			}
			if err := write(to, text[done:at], mask); err != nil {
				return found, err
			}
			done = at + size
		}
		end := len(text)
		if !last {
			end = max(done, len(text)-m.longest)
		}
		if err := write(to, text[done:end], ""); err != nil {
			return found, err
		}
		kept = copy(room, text[end:])
	}
	return found, nil
}

func write(to io.Writer, text []byte, mask string) error {
	if _, err := to.Write(text); err != nil {
		return err
	}
	_, err := io.WriteString(to, mask)
	return err
}

// Binary reports, from its beginning, whether a file is not text.
func Binary(beginning []byte) bool { return bytes.IndexByte(beginning, 0) >= 0 }
