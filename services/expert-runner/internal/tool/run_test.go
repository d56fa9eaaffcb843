package tool_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

func TestCallsOfProgramsAreReadStrictlyAndShownWithTheirEnd(t *testing.T) {
	var got tool.Script
	end := tool.Ended{Output: "out\n"}
	run := tool.Programs{Python: true, Execute: func(_ context.Context, s tool.Script) (tool.Ended, error) {
		got = s
		if s.Shell == "lost" {
			return end, errors.New("the claim is lost")
		}
		return end, nil
	}}.Tool()
	call := func(args string) string {
		text, err := run.Call(t.Context(), tool.Call{Args: args})
		if err != nil {
			return "Error: " + err.Error()
		}
		return text
	}
	if text := call(`{"command":"make","timeout":7}`); text != "out" || got.Shell != "make" || got.Timeout != 7*time.Second {
		t.Errorf("got %q, %+v", text, got)
	}
	if text := call(`{"command":"print(1)","language":"python"}`); text != "out" || got.Python != "print(1)" || got.Shell != "" || got.Timeout != tool.DefaultTimeout {
		t.Errorf("got %q, %+v", text, got)
	}
	for args, want := range map[string]string{
		`{"command":" "}`:                                   "Error: bad arguments: command is needed",
		`{"command":"x","timeout":1801}`:                    "Error: bad arguments: timeout is 1 to 1800 seconds",
		`{"command":"x","timeout":-1}`:                      "Error: bad arguments: timeout",
		`{"command":"x","language":"ruby"}`:                 `Error: there is no language "ruby"`,
		`{"command":"x","cwd":"/"}`:                         "Error: bad arguments: unknown field",
		`{"command":"lost"}`:                                "Error: the claim is lost",
		`{"command":"a\u0000b"}`:                            "Error: the command has a zero byte",
		`{"command":"` + strings.Repeat("x", 110000) + `"}`: "Error: the command has 110000 bytes",
	} {
		if text := call(args); !strings.HasPrefix(text, want) {
			t.Errorf("%.60s: got %q", args, text)
		}
	}
	for want, ended := range map[string]tool.Ended{
		"(no output)":                         {},
		"out\n[exit code 2]":                  {Output: "out\n", Code: 2},
		"out\n[killed by killed]":             {Output: "out", Signal: syscall.SIGKILL},
		"out\n[ended: it ran longer than 1s]": {Output: "out", Signal: syscall.SIGTERM, Why: "it ran longer than 1s"},
	} {
		end = ended
		if text := call(`{"command":"x"}`); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// A call whose end is unknown is repeated only if it can have had no effect outside.
func TestProgramsWithANetworkAreNotRepeated(t *testing.T) {
	if (tool.Programs{}).Tool().Once || !(tool.Programs{Network: true}).Tool().Once {
		t.Error("a program without a network may be repeated, one with a network not")
	}
}
