package llm_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves V-T16
// proves V27
func TestPiecesOfAnAnswerKeepTheirItemsAndJoin(t *testing.T) {
	var told []llm.Piece
	sink := llm.Pieces("draft/1", "draft/1/thought", func(p llm.Piece) { told = append(told, p) })
	for _, d := range []llm.Delta{
		{Reasoning: "hm"}, {Text: "two "}, {Reasoning: "…", Text: "words"}, {Call: "fetch"}, {}, {Restart: true, Text: "anew"}, {Text: "!"},
	} {
		sink(d)
	}
	want := []llm.Piece{
		{Item: "draft/1/thought", Text: "hm"},
		{Item: "draft/1", Text: "two "},
		{Item: "draft/1", Offset: 4, Text: "words"},
		{Item: "draft/1/thought", Offset: 2, Text: "…"},
		{Item: "draft/1", Offset: 9, Tool: "fetch"},
		{Item: "draft/1", Text: "anew"},
		{Item: "draft/1", Offset: 4, Text: "!"},
	}
	musttest.Equal(t, want, told)
}
