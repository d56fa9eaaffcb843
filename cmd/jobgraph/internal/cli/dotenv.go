package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// dotEnvLimit is the maximum size of a file .env, in bytes; the rest is not read.
const dotEnvLimit = 64 << 10

// withKeys adds keys of models from .env in the current folder to the environment, unless it has them, and returns their names.
// Nothing else in the file is used, least of all an address, to which a key would be sent.
func (g folders) withKeys(env host.Env) host.Env {
	if !regular(".env") {
		return env
	}
	file, err := os.Open(".env")
	if err != nil {
		g.app.note(".env of this folder cannot be read: %v", err)
		return env
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, dotEnvLimit))
	if err != nil {
		g.app.note(".env of this folder cannot be read: %v", err)
		return env
	}
	keys, used, ignored := map[string]string{}, []string(nil), []string(nil)
	for name, value := range assignments(string(text)) {
		_, given := env(name)
		_, inFile := env(name + "_FILE")
		switch {
		case !slices.Contains(llm.KeyVariables(), name):
			if ours(name) {
				ignored = append(ignored, name)
			}
		case value != "" && !given && !inFile:
			keys[name], used = value, append(used, name)
		}
	}
	slices.Sort(used)
	slices.Sort(ignored)
	if len(used) > 0 {
		g.app.note("using %s of .env of this folder", strings.Join(used, ", "))
	}
	if len(ignored) > 0 {
		g.app.note("not using %s of .env of this folder: it may give keys of models only", strings.Join(ignored, ", "))
	}
	return func(name string) (string, bool) {
		if value, found := env(name); found && value != "" {
			return value, true
		}
		value, found := keys[name]
		return value, found
	}
}

// ours reports whether this program would use a variable of the environment.
func ours(name string) bool {
	return slices.ContainsFunc([]string{"JOBGRAPH_", "NATS_", "OPENAI_", "OTEL_", "OLLAMA_", "LLAMA_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// assignments reads lines NAME=VALUE. Values may be quoted; "export " may precede a name, and # begins a comment. Nothing is
// expanded. The last line for a name counts.
func assignments(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !found || name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if quote := value[:min(1, len(value))]; quote == `"` || quote == "'" {
			value, _, _ = strings.Cut(value[1:], quote)
		} else if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		all[name] = value
	}
	return all
}
