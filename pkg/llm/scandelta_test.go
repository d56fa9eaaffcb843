package llm

import "testing"

// deltas are the forms of an event of Anthropic and of the Responses API; the value says whether it is read without reflection.
var (
	anthropicDeltas = map[string]bool{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`:                           true,
		`{"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "世\n\u754c\ud800"}}`: true,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}`:           true,
		"{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\xff\"}}":                                                true, `{"type":"content_block_delta","index":0,"delta":{"text":null}}`: true,

		`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"c2ln"}}`: false,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`:        false, `{"type":"ping"}`: false,
		`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`: false, `{"type":"content_block_delta","delta":{},"delta":{"text":"a"}}`: false,
		`{"type":"content_block_delta","delta":{"text":"a","text":"b"}}`: false, `{"type":"content_block_delta","delta":{"TEXT":"a"}}`: false, ``: false,
		`{"type":"content_block_delta","index":"0"}`: false, `{"type":"content_block_delta","delta":{"text":["a"]}}`: false, `{"type":"content_block_delta"} x`: false,
	}
	responsesDeltas = map[string]bool{
		`{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"ab"}`: true,
		`{"type": "response.reasoning_summary_text.delta", "delta": "世\n\u754c\ud800"}`:                                                                                   true, `{"type":"response.output_text.delta","delta":null}`: true, `{}`: true,
		`{"type":"response.content_part.added","part":{"type":"output_text","text":"","error":1}}`: true, "{\"delta\":\"\xff\"}": true,

		`{"type":"response.output_text.delta","delta":{"text":"a"}}`: false, `{"type":"response.output_text.delta","delta":"a","delta":"b"}`: false,
		`{"type":"response.output_item.done","item":{"type":"message"}}`: false, `{"type":"response.completed","response":{"status":"completed"}}`: false,
		`{"type":"error","code":"c","message":"m"}`: false, `{"type":"error","error":{"code":1}}`: false, `{"type":7}`: false, `{"Delta":"a"}`: false, `{"ıtem":1}`: false, ``: false,
		`{"type":"response.output_text.delta","delta":7}`: false, `{"delta":"a"} x`: false, `{"error":null}`: false,
	}
)

func scanAnthropic(data []byte) (e anthropicEvent, ok bool) {
	ok = scanDelta(data, &e)
	return e, ok
}

// Whatever these APIs send is read as encoding/json reads it, the usual forms without reflection.
func TestUsualDeltasAreScanned(t *testing.T) {
	for text, want := range anthropicDeltas {
		if got := scannedAlike(t, []byte(text), scanAnthropic); got != want {
			t.Errorf("scanned: %t: %s", got, text)
		}
	}
	for text, want := range responsesDeltas {
		if got := scannedAlike(t, []byte(text), scanResponses); got != want {
			t.Errorf("scanned: %t: %s", got, text)
		}
	}
}

func FuzzDeltasAreReadAlikeEitherWay(f *testing.F) {
	for text := range anthropicDeltas {
		f.Add([]byte(text))
	}
	for text := range responsesDeltas {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		scannedAlike(t, data, scanAnthropic)
		scannedAlike(t, data, scanResponses)
	})
}
