package app

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// agentCardLimit is the maximum size of an agent's card, in bytes.
const agentCardLimit = 1 << 20

// readAgentCard converts the card of an A2A agent to the card of an expert of kind a2a. The kind reads its contents.
func (b *book) readAgentCard(path string) {
	fault := func(code events.Code, message, cause string) {
		b.faults = append(b.faults, host.Fault{
			Code: code, File: path, Message: message, Cause: cause, Hint: "cards of experts are files *.md; a file *.json is the card of an A2A agent",
		})
	}
	text, err := readLimited(path)
	if err != nil {
		fault(host.CodeUnreadable, "the file cannot be read", cause(err))
		return
	}
	var shape struct {
		Name       string            `json:"name"`
		URL        string            `json:"url"`
		Interfaces []json.RawMessage `json:"supportedInterfaces"`
	}
	if err := json.Unmarshal([]byte(text), &shape); err != nil {
		fault(events.CodeMalformed, "this is no card of an agent", err.Error())
		return
	}
	if strings.TrimSpace(shape.Name) == "" || shape.URL == "" && len(shape.Interfaces) == 0 {
		fault(events.CodeInvalid, "this is no card of an agent", "it needs name, and url or supportedInterfaces")
		return
	}
	f := cardFile{path: path, body: text} // The text is compared to find changes.
	f.Name, f.Kind, f.Kinds.A2A.Card = shape.Name, kindA2A, filepath.Base(path)
	b.take(f)
}

func readLimited(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // The file was only read.
	text, err := io.ReadAll(io.LimitReader(file, agentCardLimit))
	return string(text), err
}
