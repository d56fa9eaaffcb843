package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// geminiAnswer returns a whole answer of generateContent.
func geminiAnswer(q Question, a Answer) object {
	body := geminiBody(q)
	body["usageMetadata"] = geminiUsage(a.used(q))
	switch a.Fault {
	case EmptyChoices:
		return body
	case ErrorInChunk:
		return geminiError(http.StatusOK, a)
	}
	body["candidates"] = []object{geminiCandidate(geminiParts(q, a), a)}
	return body
}

func geminiBody(q Question) object {
	return object{"responseId": fmt.Sprintf("gen_%d", q.N), "modelVersion": q.Model}
}

// geminiCandidate returns the last candidate of an answer.
func geminiCandidate(parts []object, a Answer) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": geminiReason(a)}
	if a.Refusal != "" {
		candidate["finishMessage"] = a.Refusal
	}
	return candidate
}

func geminiReason(a Answer) string {
	if a.Refusal != "" {
		return "SAFETY"
	}
	reason := a.finish()
	names := map[string]string{"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
	return cmp.Or(names[reason], reason)
}

// geminiParts returns the contents of an answer. The first part after a thought is signed.
func geminiParts(q Question, a Answer) []object {
	parts := []object{}
	if a.Reasoning != "" {
		parts = append(parts, object{"text": a.Reasoning, "thought": true})
	}
	if a.Text != "" {
		parts = append(parts, object{"text": a.Text})
	}
	for _, call := range a.Calls {
		parts = append(parts, object{"functionCall": geminiCall(call)})
	}
	if a.Reasoning != "" && len(parts) > 1 {
		signed := parts[1]
		if len(a.Calls) > 0 {
			signed = parts[len(parts)-len(a.Calls)]
		}
		signed["thoughtSignature"] = seal(q)
	}
	return parts
}

// geminiCall returns a call, which has an id only if the script gives one.
func geminiCall(call Call) object {
	made := object{"name": call.Name, "args": argsOf(call)}
	if call.ID != "" {
		made["id"] = call.ID
	}
	return made
}

func geminiUsage(u Usage) object {
	usage := object{
		"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Completion - u.Reasoning, "totalTokenCount": u.Prompt + u.Completion,
	}
	if u.Cached > 0 {
		usage["cachedContentTokenCount"] = u.Cached
	}
	if u.Reasoning > 0 {
		usage["thoughtsTokenCount"] = u.Reasoning
	}
	return usage
}

// geminiEvents returns the chunks of a streamed answer, and separately those that end it. A signature follows its text in a
// separate empty part, as Google sends it.
func geminiEvents(q Question, a Answer) (body, end []object) {
	used := a.used(q)
	chunk := func(parts ...object) object {
		made := geminiBody(q)
		made["candidates"] = []object{{"index": 0, "content": object{"role": "model", "parts": parts}}}
		made["usageMetadata"] = object{"promptTokenCount": used.Prompt, "totalTokenCount": used.Prompt}
		return made
	}
	for _, piece := range a.pieces(a.Reasoning) {
		body = append(body, chunk(object{"text": piece, "thought": true}))
	}
	for _, piece := range a.pieces(a.Text) {
		body = append(body, chunk(object{"text": piece}))
	}
	parts := geminiParts(q, a)
	for _, part := range parts[len(parts)-len(a.Calls):] {
		body = append(body, chunk(part))
	}
	last := []object{}
	if a.Reasoning != "" && a.Text != "" && len(a.Calls) == 0 {
		last = append(last, object{"text": "", "thoughtSignature": seal(q)})
	}
	final := geminiBody(q)
	final["candidates"], final["usageMetadata"] = []object{geminiCandidate(last, a)}, geminiUsage(used)
	switch a.Fault {
	case ErrorInChunk:
		return body, []object{geminiError(http.StatusBadGateway, a)}
	case EmptyChoices:
		delete(final, "candidates")
		return nil, []object{final}
	}
	return body, []object{final}
}

// geminiError returns the body of an error. Its details repeat the Retry-After of the answer.
func geminiError(status int, a Answer) object {
	words := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED", 429: "RESOURCE_EXHAUSTED",
		499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	if status < 400 {
		status = http.StatusInternalServerError
	}
	said := object{"code": status, "message": cmp.Or(a.Error, http.StatusText(status), "failed"), "status": cmp.Or(a.Code, words[status], "UNKNOWN")}
	if wait, err := strconv.ParseFloat(a.Header["Retry-After"], 64); err == nil {
		said["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": strconv.FormatFloat(wait, 'f', -1, 64) + "s"}}
	}
	return object{"error": said}
}

// geminiAsked is a request to generateContent.
type geminiAsked struct {
	System   geminiContent   `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name       string          `json:"name"`
			Schema     json.RawMessage `json:"parametersJsonSchema"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig struct {
		Calling struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config struct {
		Media      string          `json:"responseMimeType"`
		Schema     json.RawMessage `json:"responseSchema"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string         `json:"text"`
	Signature string          `json:"thoughtSignature"`
	Inline    json.RawMessage `json:"inlineData"`
	File      json.RawMessage `json:"fileData"`
	Call      *struct {
		Name string `json:"name"`
	} `json:"functionCall"`
	Result *struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// readGemini parses a request to a model's generateContent and notes what Google would reject.
func readGemini(path string, header http.Header, body []byte) (Question, error) {
	var asked geminiAsked
	if err := json.Unmarshal(body, &asked); err != nil {
		return Question{}, err
	}
	model, method, _ := strings.Cut(strings.TrimPrefix(path, "/models/"), ":")
	q := Question{
		Path: pathGemini, Model: model, Stream: method == "streamGenerateContent", Header: header.Clone(), Body: append(json.RawMessage{}, body...),
		Tools: map[string]json.RawMessage{}, ToolChoice: strings.ToLower(asked.ToolConfig.Calling.Mode),
	}
	for _, tools := range asked.Tools {
		for _, f := range tools.Functions {
			q.Tools[f.Name] = f.Schema
			if f.Schema == nil {
				q.Tools[f.Name] = f.Parameters
			}
		}
	}
	if q.ToolChoice == "any" {
		q.ToolChoice = "required"
		if len(asked.ToolConfig.Calling.Allowed) == 1 {
			q.ToolChoice = asked.ToolConfig.Calling.Allowed[0]
		}
	}
	if asked.Config.Media == "application/json" {
		q.Form = "json_object"
		if q.Schema = asked.Config.JSONSchema; q.Schema == nil {
			q.Schema = asked.Config.Schema
		}
		if q.Schema != nil {
			q.Form = "json_schema"
		}
	}
	asked.System.Role = "system"
	if len(asked.System.Parts) > 0 {
		q.Turns = geminiTurns(asked.System)
	}
	for _, c := range asked.Contents {
		q.Turns = append(q.Turns, geminiTurns(c)...)
	}
	q.Wrong = geminiWrong(&asked, model)
	return q, nil
}

// geminiTurns converts a content to turns, one for each result of a tool.
func geminiTurns(c geminiContent) (turns []Turn) {
	said := Turn{Role: c.Role}
	if said.Role == "model" {
		said.Role = "assistant"
	}
	for _, p := range c.Parts {
		switch {
		case p.Call != nil:
			said.Calls = append(said.Calls, p.Call.Name)
		case p.Result != nil:
			result := Turn{Role: "tool", CallID: cmp.Or(p.Result.ID, p.Result.Name)}
			for _, value := range p.Result.Response {
				result.Text += text(value)
			}
			turns = append(turns, result)
		case p.Text != nil:
			said.Text += *p.Text
		}
	}
	if said.Text != "" || len(said.Calls) > 0 || len(turns) == 0 {
		turns = append(turns, said)
	}
	return turns
}
