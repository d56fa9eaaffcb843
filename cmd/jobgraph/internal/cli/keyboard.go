package cli

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// keyboard reads lines that a person types behind a prompt. read belongs to a goroutine of its own.
type keyboard interface {
	// begin shows the prompt and prepares the terminal; end leaves it as it was.
	begin(prompt string) (end func(), err error)
	// read returns the next line; more is false if the person has ended the input instead.
	read() (line string, more bool)
	// discard forgets what was typed and not read yet, and reports whether there were whole lines of it.
	discard() bool
}

// openKeyboard returns the keyboard of this terminal: an editor where that is possible, else the lines that the terminal gives.
func (a *app) openKeyboard() keyboard {
	if in, isFile := a.sys.Stdin.(*os.File); isFile && a.screen() && editable(in) {
		return newEditor(in, a)
	}
	return plainKeys{a, bufio.NewReader(a.sys.Stdin)}
}

// plainKeys are lines as the input gives them.
type plainKeys struct {
	app *app
	in  *bufio.Reader
}

func (k plainKeys) begin(prompt string) (func(), error) { return func() {}, k.app.printf("%s", prompt) }

func (k plainKeys) read() (string, bool) {
	line, err := k.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err == nil || line != ""
}

// discard forgets nothing: what a file or a pipe says ahead is meant.
func (k plainKeys) discard() bool { return false }

// editor is a line editor. The terminal's own one cuts a line at 4,095 bytes without a word, and makes several lines of a text that is
// pasted: the first would be the message, and the next the answer to whatever is asked.
type editor struct {
	app   *app
	in    *os.File
	keys  *pastes
	line  *term.Terminal
	begun bool // Whether there was a prompt before: what was typed behind it without Enter is still there.
}

func newEditor(in *os.File, a *app) *editor {
	e := &editor{app: a, in: in, keys: &pastes{in: in}}
	e.line = e.fresh()
	return e
}

func (e *editor) fresh() *term.Terminal {
	return term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, e.app.sys.Stdout}, "")
}

func (e *editor) begin(prompt string) (func(), error) {
	restore, err := editing(e.in)
	if err != nil {
		return func() {}, err
	}
	if width, height, ok := e.app.size(); ok {
		_ = e.line.SetSize(width, height) // Only a line that is shown already can fail to be drawn again.
	}
	e.line.SetBracketedPasteMode(true)
	e.line.SetPrompt(prompt)
	if e.begun {
		_, err = e.line.Write(nil) // Draws the prompt and what was typed if a read is under way.
	}
	e.begun = true
	return func() {
		e.line.SetBracketedPasteMode(false)
		restore()
	}, err
}

func (e *editor) read() (string, bool) {
	line, err := e.line.ReadLine()
	if err != nil { // The terminal would read the same Ctrl-D again.
		past := e.line.History
		e.line, e.begun = e.fresh(), false
		e.line.History = past
	}
	return strings.ReplaceAll(line, newlineSign, "\n"), err == nil
}

func (e *editor) discard() bool { return flush(e.in) }

// newlineSign stands for the end of a line in a text that is pasted, until the whole text is sent.
const newlineSign = "↵"

// The marks around a text that is pasted, which differ in one byte.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// pastes reads keys and makes one line of each text that is pasted.
type pastes struct {
	in     io.Reader
	inside bool
	mark   []byte // The beginning of a mark that has been read so far.
	later  []byte // What has been read behind a Ctrl-D.
}

// ctrlD ends the input at the beginning of a line.
const ctrlD = 4

// Read implements io.Reader. It reads little enough that what it makes of it fits, and gives nothing behind a Ctrl-D with it: the line that
// it ends takes no more.
func (p *pastes) Read(into []byte) (n int, err error) {
	few := into[:max(1, len(into)/len(newlineSign))]
	if n = copy(few, p.later); n > 0 {
		p.later = p.later[n:]
	} else {
		n, err = p.in.Read(few)
	}
	out := make([]byte, 0, len(into))
	for i, b := range few[:n] {
		p.note(b)
		if b == ctrlD && !p.inside {
			p.later = append(slices.Clone(few[i+1:n]), p.later...)
			out = append(out, b)
			break
		}
		if p.inside && (b == '\n' || b == '\r') {
			out = append(out, newlineSign...)
			continue
		}
		out = append(out, b)
	}
	return copy(into, out), err
}

// note follows the marks byte by byte.
func (p *pastes) note(b byte) {
	p.mark = append(p.mark, b)
	switch text := string(p.mark); {
	case text == pasteBegins, text == pasteEnds:
		p.inside, p.mark = text == pasteBegins, p.mark[:0]
	case !strings.HasPrefix(pasteBegins, text) && !strings.HasPrefix(pasteEnds, text):
		p.mark = p.mark[:0]
		if b == pasteBegins[0] {
			p.mark = append(p.mark, b)
		}
	}
}
