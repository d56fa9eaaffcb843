package llmtest

import "net/http"

// api is one of the APIs that the server speaks.
type api struct {
	// read parses a request to a path.
	read func(path string, header http.Header, body []byte) (Question, error)
	// message returns a whole answer; events returns the events of a streamed answer, the last ones separately.
	message func(Question, Answer) object
	events  func(Question, Answer) (body, end []object)
	// regular ends a stream for which no reason is given; nothing if nil.
	regular []object
	// refusal is the body of an error.
	refusal func(status int, a Answer) object
	// done is what ends a stream.
	done string
}

// The endpoints of the APIs.
const (
	pathChat      = "/chat/completions"
	pathResponses = "/responses"
	pathAnthropic = "/messages"
	pathGemini    = "/generateContent"
)

// apis are the APIs by endpoint.
var apis = map[string]api{
	pathChat:      {read: readQuestion, message: completion, events: chunks, refusal: usualError, done: "data: [DONE]\n\n"},
	pathResponses: {read: readQuestion, message: response, events: responseEvents, refusal: usualError},
	pathAnthropic: {read: readAnthropic, message: anthropicMessage, events: anthropicEvents, regular: []object{{"type": "message_stop"}}, refusal: anthropicError},
	pathGemini:    {read: readGemini, message: geminiAnswer, events: geminiEvents, refusal: geminiError},
}
