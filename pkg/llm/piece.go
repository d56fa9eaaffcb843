package llm

// Piece is one message to the watchers of an answer: it continues an item at an offset in bytes. An item keeps its name. An
// offset of 0 restarts it; a piece that does not continue the previous one means that pieces were missed.
type Piece struct {
	Item   string `json:"item"`
	Offset int    `json:"offset"`
	Text   string `json:"text,omitempty"`
	// Tool and Args describe a call. Done means that the call has ended; then Bytes is the size of its result.
	Tool  string `json:"tool,omitempty"`
	Args  string `json:"args,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// Pieces returns a sink that passes an answer on piece by piece, with text and reasoning as separate items. A call is
// reported within the text as soon as its tool is known.
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
