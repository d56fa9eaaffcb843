package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/tools/internal/place"
	"github.com/jobgraph/jobgraph/tools/internal/serve"
)

// bench is a server with a workspace, and a client.
type bench struct {
	t      *testing.T
	dir    string
	client *sdk.ClientSession
}

// open starts a server in a workspace with these files.
func open(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	dir, err := place.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	theirs, ours := sdk.NewInMemoryTransports()
	server, err := serve.New(serve.Settings{Dir: dir, Version: "test"}).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.client, err = sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.client.Close(); _ = server.Wait() })
	return b
}

func (b *bench) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// call returns the text of a tool, and whether it is an error.
func (b *bench) call(tool string, args map[string]any) (said string, failed bool) {
	b.t.Helper()
	result, err := b.client.CallTool(b.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, part := range result.Content {
		if text, is := part.(*sdk.TextContent); is {
			said += text.Text
		}
	}
	return said, result.IsError
}

// gives checks that a call succeeds and that its text contains all of these.
func (b *bench) gives(tool string, args map[string]any, wanted ...string) {
	b.t.Helper()
	b.check(tool, args, false, wanted)
}

// fails checks that a call fails and that its text contains all of these.
func (b *bench) fails(tool string, args map[string]any, wanted ...string) {
	b.t.Helper()
	b.check(tool, args, true, wanted)
}

func (b *bench) check(tool string, args map[string]any, fail bool, wanted []string) {
	b.t.Helper()
	said, failed := b.call(tool, args)
	if failed != fail {
		b.t.Errorf("%s %v: failed is %t: %s", tool, args, failed, said)
	}
	for _, text := range wanted {
		if !strings.Contains(said, text) {
			b.t.Errorf("%s %v says\n%s\nwanted %q", tool, args, said, text)
		}
	}
}

type args = map[string]any
