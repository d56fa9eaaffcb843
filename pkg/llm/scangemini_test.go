package llm

import "testing"

// geminiChunks are the forms of a chunk of Gemini; the value says whether it is read without reflection.
var geminiChunks = map[string]bool{
	`{"candidates":[{"content":{"parts":[{"text":" word"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":25,` +
		`"totalTokenCount":29,"promptTokensDetails":[{"modality":"TEXT","tokenCount":4}]},"modelVersion":"gemini-2.5-flash","responseId":"r"}`: true,
	`{"candidates": [{"content": {"parts": [{"text": "a \"quoted\" <b>\n\u4e16\ud83d\ude00 end"}],"role": "model"},"finishReason": "STOP","index": 0,"safetyRatings": ` +
		`[{"category": "HARM", "blocked": false}],"avgLogprobs": -0.1}],"usageMetadata": {"promptTokenCount": 4,"cachedContentTokenCount": 1,` +
		`"toolUsePromptTokenCount": 2,"candidatesTokenCount": 0,"thoughtsTokenCount": 1000000000,"trafficType": "ON_DEMAND"},"createTime": "2026-01-01T00:00:00Z"}`: true,
	`{"candidates":[{"content":{"parts":[{"text":"so","thought":true},{"text":"世界","thought":false},{"text":"","thoughtSignature":"c2ln"}]}}]}`:  true,
	`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"aa"}},{"executableCode":{"code":"x"}},{}]}}]}`:            true,
	`{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"MAX_TOKENS"}]}`: true,
	`{"candidates":[{"index":-1,"index":7,"finishReason":"","finishReason":"SAFETY"}],"responseId":"a","responseId":"","x":{"error":[null]}}`:    true,
	`{"candidates":[],"usageMetadata":{}}`: true, `{"candidates":[{}]}`: true, `{"candidates":[{"content":{}}]}`: true, `{"candidates":[{"content":{"parts":[]}}]}`: true, `{}`: true,
	`{"candidates":[{"content":{"parts":[{"text":"a","text":"b","thought":true,"thought":false}]}}]}`: true, " {\"responseId\" : \"r\" } \n": true,
	"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xff\"}]}}]}": true, `{"candidates":[{"content":{"parts":[{"text":"\ud800"}]}}]}`: true,

	`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"1","name":"look","args":{"q":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`: false,
	`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"why"}]}`:                                                                 false, `{"promptFeedback":{"blockReason":"SAFETY"}}`: false,
	`{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`: false, `{"error":null}`: false, `{"ERROR":{"code":1}}`: false, `{"candidateſ":[{"index":1}]}`: false,
	`{"Candidates":[{"index":1}]}`: false, `{"candidates":[{"finishreason":"STOP"}]}`: false, `{"candidates":[{"content":{"Parts":[{"text":"a"}]}}]}`: false,
	`{"candidates":[{"content":{"parts":[{"TEXT":"a"}]}}]}`: false, `{"usageMetadata":{"prompttokencount":1}}`: false, `{"\u0065rror":1}`: false,
	`{"candidates":[{"index":0}],"candidates":[{"finishReason":"STOP"}]}`: false, `{"candidates":[{"content":{},"content":{"parts":[]}}]}`: false,
	`{"candidates":[{"content":{"parts":[{"text":"a"}],"parts":[{"thought":true}]}}]}`: false, `{"usageMetadata":{"promptTokenCount":1},"usageMetadata":{}}`: false,
	`{"candidates":null}`: false, `{"candidates":[null]}`: false, `{"candidates":[{"content":null}]}`: false, `{"candidates":[{"finishReason":null}]}`: false,
	`{"candidates":[{"content":{"parts":[null]}}]}`: false, `{"candidates":[{"content":{"parts":null}}]}`: false, `{"candidates":[{"content":{"parts":[{"text":null}]}}]}`: false,
	`{"usageMetadata":null}`: false, `{"usageMetadata":{"promptTokenCount":-1}}`: false, `{"usageMetadata":{"promptTokenCount":1.0}}`: false,
	`{"usageMetadata":{"promptTokenCount":1000000001}}`: false, `{"usageMetadata":{"promptTokenCount":"4"}}`: false, `{"usageMetadata":{"promptTokenCount":null}}`: false,
	`{"responseId":7,"modelVersion":{}}`: false, `{"candidates":{}}`: false, `{"candidates":[{"index":"0"}]}`: false, `{"candidates":[{"index":1.5}]}`: false,
	`{"candidates":[{"content":{"parts":[7]}}]}`: false, `{"candidates":[{"content":{"parts":[{"text":["a"]}]}}]}`: false, `{"candidates":[{"content":{"parts":[{"thought":1}]}}]}`: false,
	``: false, `null`: false, `[]`: false, `{"responseId":"a"} x`: false, `{"candidates":[{"content":{"parts":[{"text":"a`: false, `{"candidates":[{}],}`: false, `{"x":tru}`: false,
}

// Whatever Gemini sends is read as encoding/json reads it, the usual forms without reflection.
func TestUsualChunksOfGeminiAreScanned(t *testing.T) {
	for text, want := range geminiChunks {
		if got := scannedAlike(t, []byte(text), scanGemini); got != want {
			t.Errorf("scanned: %t: %s", got, text)
		}
	}
}

func FuzzChunksOfGeminiAreReadAlikeEitherWay(f *testing.F) {
	for text := range geminiChunks {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { scannedAlike(t, data, scanGemini) })
}
