package llm

// Piece is one message to those who watch an answer come: it continues an item at an offset in bytes. An item keeps its name
// for good; an offset of 0 begins it again, and a piece that does not join what was seen says that something was missed.
type Piece struct {
	Item   string `json:"item"`
	Offset int    `json:"offset"`
	Text   string `json:"text,omitempty"`
	// Tool and Args say what is called; Done that the call is over, after which Bytes is what it gave.
	Tool  string `json:"tool,omitempty"`
	Args  string `json:"args,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// Pieces gives a sink that tells one answer piece by piece: what is said and what is thought are items of their own. A call
// is told within what is said, as soon as its tool is known.
func Pieces(said, thought string, tell func(Piece)) func(Delta) {
	var texts, thoughts int
	return func(d Delta) {
		if d.Restart {
			texts, thoughts = 0, 0
		}
		if d.Text != "" {
			tell(Piece{Item: said, Offset: texts, Text: d.Text})
			texts += len(d.Text)
		}
		if d.Reasoning != "" {
			tell(Piece{Item: thought, Offset: thoughts, Text: d.Reasoning})
			thoughts += len(d.Reasoning)
		}
		if d.Call != "" {
			tell(Piece{Item: said, Offset: texts, Tool: d.Call})
		}
	}
}
