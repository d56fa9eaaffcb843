package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A prompt that is given up, since its question was answered elsewhere, takes no line from the next one.
func TestALineThatNoPromptWaitsForGoesToTheNextPrompt(t *testing.T) {
	in, keys := io.Pipe()
	a := newApp(t.Context(), t.Context(), System{System: host.System{Stdout: io.Discard, Env: func(string) (string, bool) { return "", false }}, Stdin: in, Typing: true})
	d := a.openDialog("ann")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errElsewhere)
	if _, err := d.line(ctx, "answer> "); !errors.Is(err, errElsewhere) {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(keys, "hello\nthere\n") }() // Ends when both lines are read.
	for _, want := range []string{"hello", "there"} {
		if line, err := d.line(t.Context(), "you> "); err != nil || line != want {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
	}
	musttest.Do(t, keys.Close())
	for range 2 {
		if _, err := d.line(t.Context(), "you> "); !errors.Is(err, errLeft) {
			t.Errorf("at the end of the input: %v", err)
		}
	}
}

// What is typed behind a Ctrl-D belongs to the next line.
func TestNothingIsReadBehindACtrlDTogetherWithIt(t *testing.T) {
	p := &pastes{in: strings.NewReader("a\x04bc\x04d" + pasteBegins + "\x04" + pasteEnds)}
	var got []string
	for into := make([]byte, 90); ; {
		n, err := p.Read(into)
		if err != nil {
			break
		}
		got = append(got, string(into[:n]))
	}
	musttest.Equal(t, []string{"a\x04", "bc\x04", "d" + pasteBegins + "\x04" + pasteEnds}, got)
}

func TestOnlyTheEndsOfLinesWithinAPasteAreReplaced(t *testing.T) {
	typed := "a\n" + pasteBegins + "b\nc\rd" + pasteEnds + "\x1b[A\n\x1b" + pasteBegins + "\n" + pasteEnds + "\n"
	want := "a\n" + pasteBegins + "b↵c↵d" + pasteEnds + "\x1b[A\n\x1b" + pasteBegins + "↵" + pasteEnds + "\n"
	for name, in := range map[string]io.Reader{"at once": strings.NewReader(typed), "byte by byte": iotest.OneByteReader(strings.NewReader(typed))} {
		if got := musttest.Get(io.ReadAll(&pastes{in: in}))(t); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
