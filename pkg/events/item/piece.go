package item

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// maxPiece limits the text of a piece, in bytes.
const maxPiece = 64 << 10

// OfPiece reads a message on a SubJob's live subject (events.Names.Live) as an item. The message is an item, a piece
// {"item","offset",…} as our experts publish it, a milestone {"message","done","total"}, or plain text. An item without an ID
// stands alone.
func OfPiece(body []byte) Item {
	var p struct {
		Item
		Of      string          `json:"item"`
		Message string          `json:"message"`
		Done    json.RawMessage `json:"done"` // A flag of an item, a number of a milestone.
		Total   int             `json:"total"`
	}
	text := string(body)
	if json.Unmarshal(body, &p) == nil {
		p.Item.Done = string(p.Done) == "true"
		switch {
		case p.Item.Type != "":
			return p.Item
		case p.Of != "":
			p.ID, p.Item.Type = p.Of, typeOf(p.Of, p.Tool)
			return p.Item
		case p.Message != "":
			m := events.SubJobProgressed{Message: p.Message, Total: p.Total}
			_ = json.Unmarshal(p.Done, &m.Done) // A flag is not a number; then the field stays empty.
			text = Milestone(&m)
		}
	}
	i := Item{Type: Progress, Text: strings.ToValidUTF8(text[:min(len(text), maxPiece)], "\uFFFD"), Done: true}
	i.Truncated = max(len(text)-maxPiece, 0)
	return i
}

// Milestone returns the text for a milestone.
func Milestone(p *events.SubJobProgressed) string {
	switch {
	case p.Total <= 0:
		return p.Message
	case p.Message == "":
		return fmt.Sprintf("%d of %d", p.Done, p.Total)
	}
	return fmt.Sprintf("%s (%d of %d)", p.Message, p.Done, p.Total)
}

// typeOf returns the type of an item from one of its pieces.
func typeOf(id, tool string) Type {
	switch {
	case tool != "" || strings.HasPrefix(id, "tool/"):
		return Tool
	case strings.HasPrefix(id, "thought") || strings.HasSuffix(id, "/thought"):
		return Thinking
	}
	return Text
}
