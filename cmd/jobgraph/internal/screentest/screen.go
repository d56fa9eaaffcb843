package screentest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"
)

// Screen is the content of a terminal. Read its fields after Close; Frame is called while it is written to.
type Screen struct {
	// TTY is the side of the terminal that programs write to.
	TTY *os.File
	// Frame is called with the rows of the screen whenever everything below the cursor was cleared.
	Frame func(rows []string)
	// Faults are violations: unknown sequences, rows that are too long, moves above the first row.
	Faults []string

	width, height int
	rows          [][]string // The characters of each row; "" follows a wide one.
	x, y          int
	above         []string // Rows that have scrolled off the top.
	host          *os.File
	done          chan struct{}
}

// Open creates a terminal of a given size; it ends with the test.
func Open(t testing.TB, width, height int) *Screen {
	t.Helper()
	host, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("open a pseudo-terminal: %v", err)
	}
	if err := pty.Setsize(host, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		t.Fatalf("size the pseudo-terminal: %v", err)
	}
	s := &Screen{TTY: tty, width: width, height: height, host: host, done: make(chan struct{})}
	s.rows = make([][]string, height)
	t.Cleanup(func() { _, _ = tty.Close(), host.Close() }) // Closed already, unless the test failed.
	return s
}

// Listen reads what is written until Close.
func (s *Screen) Listen() {
	go func() { // Ends when all writers have closed the other side.
		defer close(s.done)
		var held []byte
		buffer := make([]byte, 64<<10)
		for {
			n, err := s.host.Read(buffer)
			held = s.take(append(held, buffer[:n]...))
			if err != nil {
				return // EIO marks the end of a pseudo-terminal.
			}
		}
	}()
}

// Close closes the terminal after everything written has been read.
func (s *Screen) Close() error {
	if err := s.TTY.Close(); err != nil {
		return err
	}
	<-s.done
	return s.host.Close()
}

// Text returns everything that was shown, row by row, without empty rows at the end.
func (s *Screen) Text() []string {
	all := append(append([]string(nil), s.above...), s.visible()...)
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

func (s *Screen) visible() []string {
	list := make([]string, len(s.rows))
	for i, row := range s.rows {
		list[i] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return list
}

// take interprets bytes and returns those of an incomplete sequence or character.
func (s *Screen) take(text []byte) (rest []byte) {
	for len(text) > 0 {
		switch c := text[0]; {
		case c == '\r':
			s.x, text = 0, text[1:]
		case c == '\n':
			s.down()
			text = text[1:]
		case c == 0x1b:
			end := sequence(text)
			if end < 0 {
				return text
			}
			s.obey(string(text[:end]))
			text = text[end:]
		case !utf8.FullRune(text):
			return text
		default:
			r, size := utf8.DecodeRune(text)
			s.put(string(r))
			text = text[size:]
		}
	}
	return nil
}

// sequence returns the length of the control sequence at the beginning, -1 if it is incomplete.
func sequence(text []byte) int {
	for i := 2; i < len(text); i++ {
		if text[i] >= 0x40 && text[i] <= 0x7e {
			return i + 1
		}
	}
	return -1
}

func (s *Screen) obey(code string) {
	n, err := strconv.Atoi(strings.Trim(code, "\x1b[ABCDJKm"))
	if err != nil {
		n = 1
	}
	switch {
	case strings.HasSuffix(code, "m"):
	case code == "\x1b[?2004h", code == "\x1b[?2004l": // Whether a paste is marked shows nothing.
	case strings.HasSuffix(code, "A"):
		if s.y -= n; s.y < 0 {
			s.fault("%d rows up from row %d", n, s.y+n)
			s.y = 0
		}
	case code == "\x1b[K":
		s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
	case code == "\x1b[J":
		s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
		for i := s.y + 1; i < s.height; i++ {
			s.rows[i] = nil
		}
		if s.Frame != nil {
			s.Frame(s.visible())
		}
	default:
		s.fault("sequence %q", code)
	}
}

func (s *Screen) put(character string) {
	width := uniseg.StringWidth(character)
	row := s.rows[s.y]
	if width == 0 { // It combines with the previous one.
		if s.x > 0 && s.x <= len(row) {
			row[s.x-1] += character
		}
		return
	}
	if s.x+width > s.width {
		s.fault("row %q goes on with %q", strings.Join(row, ""), character)
		s.x = 0
		s.down()
		row = s.rows[s.y]
	}
	for len(row) < s.x+width {
		row = append(row, " ")
	}
	row[s.x] = character
	for i := 1; i < width; i++ {
		row[s.x+i] = ""
	}
	s.rows[s.y], s.x = row, s.x+width
}

func (s *Screen) down() {
	if s.y++; s.y < s.height {
		return
	}
	s.above = append(s.above, s.visible()[0])
	copy(s.rows, s.rows[1:])
	s.rows[s.height-1], s.y = nil, s.height-1
}

func (s *Screen) fault(format string, args ...any) {
	if len(s.Faults) < 20 {
		s.Faults = append(s.Faults, fmt.Sprintf(format, args...))
	}
}
