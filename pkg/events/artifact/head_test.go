package artifact_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

func TestAHeadIsTheTextThatAFileBeginsWith(t *testing.T) {
	for _, c := range []struct {
		file, want string
		full       bool
	}{
		{"", "", false},
		{"abcd", "abcd", false},
		{"abcdef", "abcde", true},
		{"abcdä", "abcd", true},
		{"ab字字", "ab字", true},
		{"a\tb\r\n", "a\tb\r\n", false},
		{"a\x00b", "", false},
		{"\x01\x02", "", false},
		{"\xff\xfe\xfd\xfc\xfb\xfa", "", true},
		{"ab\xe5", "", false},
	} {
		for _, read := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
			h := artifact.NewHead(5)
			_, err := io.Copy(h, read)
			if got := h.Text(); got != c.want || h.Full() != c.full || (err != nil) != c.full {
				t.Errorf("of %q: %q, full %v, %v", c.file, got, h.Full(), err)
			}
		}
	}
	if h := artifact.NewHead(0); h.Text() != "" || h.Full() {
		t.Errorf("of nothing: %q %v", h.Text(), h.Full())
	}
}
