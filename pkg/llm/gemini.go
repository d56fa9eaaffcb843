package llm

import (
	"encoding/json"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// gemini is the API of Google's Gemini: generateContent.
type gemini struct{}

const (
	geminiBase = "https://generativelanguage.googleapis.com/v1beta"
	// geminiStops is how many texts Gemini accepts as the end of an answer; the others are applied here.
	geminiStops = 5
	// geminiUnsigned stands in for the signature of a call that the model has not made itself, as Google documents it.
	geminiUnsigned = "skip_thought_signature_validator"
)

// authorize sends the key in Google's header.
func (gemini) authorize(cfg ModelConfig, header http.Header) {
	if cfg.Key != "" {
		header.Set("X-Goog-Api-Key", string(cfg.Key))
	}
}

// request builds a request to a model's generateContent.
func (gemini) request(t *turn) (address string, body map[string]any) {
	settings := t.settings()
	system, sides := t.sides()
	body = object{"contents": geminiContents(sides, geminiSigns(t.cfg.Model))}
	if system = slices.DeleteFunc(system, blank); len(system) > 0 {
		body["systemInstruction"] = object{"parts": []object{{"text": strings.Join(system, "\n\n")}}}
	}
	var tools []object
	for _, tool := range t.tools() {
		made := object{"name": tool.Name}
		if tool.Description != "" {
			made["description"] = tool.Description
		}
		if tool.Parameters != nil {
			made["parametersJsonSchema"] = reduced(tool.Parameters, geminiSchema)
		}
		tools = append(tools, made)
	}
	if tools != nil {
		body["tools"] = []object{{"functionDeclarations": tools}}
		body["toolConfig"] = object{"functionCallingConfig": geminiChoice(t.toolChoice())}
	}
	if config := t.geminiConfig(settings); len(config) > 0 {
		body["generationConfig"] = config
	}
	address = "/models/" + strings.TrimPrefix(t.cfg.Model, "models/") + ":generateContent"
	if t.request.Stream {
		address = strings.TrimSuffix(address, ":generateContent") + ":streamGenerateContent?alt=sse"
	}
	return address, body
}

func (t *turn) geminiConfig(settings object) object {
	config := object{}
	for from, to := range map[string]string{"temperature": "temperature", "max_tokens": "maxOutputTokens", "seed": "seed"} {
		if field, ok := settings[from]; ok {
			config[to] = field
		}
	}
	if stops := slices.DeleteFunc(slices.Clone(t.request.Stop), func(stop string) bool { return stop == "" }); len(stops) > 0 {
		config["stopSequences"] = stops[:min(len(stops), geminiStops)]
	}
	switch t.rung() {
	case RungSchema:
		config["responseMimeType"], config["responseJsonSchema"] = "application/json", reduced(t.request.Schema.Schema, geminiSchema)
	case RungObject:
		config["responseMimeType"] = "application/json"
	}
	effort, _ := settings["reasoning_effort"].(string)
	budget, limited := settings["thinking_budget"].(int)
	switch {
	case effort == effortNone:
		config["thinkingConfig"] = object{"thinkingBudget": 0}
	case effort != "":
		config["thinkingConfig"] = object{"thinkingLevel": effort, "includeThoughts": true}
	case limited && budget > 0:
		config["thinkingConfig"] = object{"thinkingBudget": budget, "includeThoughts": true}
	}
	return config
}

func geminiChoice(choice string) object {
	switch choice {
	case "", ToolAuto:
		return object{"mode": "AUTO"}
	case ToolNone:
		return object{"mode": "NONE"}
	case ToolRequired:
		return object{"mode": "ANY"}
	}
	return object{"mode": "ANY", "allowedFunctionNames": []string{choice}}
}

// geminiSigns reports whether a model demands signatures on calls. Those before the third generation have none.
func geminiSigns(model string) bool {
	return !strings.Contains(model, "gemini-1") && !strings.Contains(model, "gemini-2")
}

// geminiContents converts sides to contents. Results are contents of their own.
func geminiContents(sides []side, signs bool) (contents []object) {
	add := func(role string, parts []any) {
		if len(parts) > 0 {
			contents = append(contents, object{"role": role, "parts": parts})
		}
	}
	for _, s := range sides {
		role := "user"
		if s.model {
			role = "model"
		}
		var results, others []any
		unsigned := signs
		for _, p := range s.parts {
			switch {
			case p.result != nil:
				results = append(results, geminiResult(p.result))
			case p.call != nil:
				part := object{"functionCall": object{"name": p.call.Name, "args": objectOf(p.call.Args)}}
				if unsigned { // Of several calls, only the first needs a signature.
					part["thoughtSignature"], unsigned = geminiUnsigned, false
				}
				others = append(others, part)
			default:
				others = append(others, geminiPartOf(p))
			}
		}
		add(role, results)
		add(role, others)
	}
	return contents
}

// geminiResult returns the result of a call as text, since objects lose the precision of large numbers on the way.
func geminiResult(r *sideResult) object {
	key := "output"
	if r.missing {
		key = "error"
	}
	made := object{"name": r.name, "response": object{key: r.text}}
	if r.own && r.id != "" {
		made["id"] = r.id
	}
	return object{"functionResponse": made}
}

func geminiPartOf(p sidePart) any {
	switch {
	case p.raw != nil:
		return p.raw
	case p.image != nil:
		if media, data, ok := p.image.inlined(); ok {
			return object{"inlineData": object{"mimeType": media, "data": data}}
		}
		address, _, _ := strings.Cut(p.image.ImageURL, "?")
		media := mime.TypeByExtension(path.Ext(address))
		if !strings.HasPrefix(media, "image/") {
			media = "image/jpeg"
		}
		return object{"fileData": object{"mimeType": media, "fileUri": p.image.ImageURL}}
	}
	return object{"text": p.text}
}

// calls returns the ids of the calls in the parts of a turn, "" for a call without one.
func (gemini) calls(items []json.RawMessage) (ids []string) {
	for _, raw := range items {
		var part geminiPart
		if json.Unmarshal(raw, &part) == nil && part.Call != nil {
			ids = append(ids, string(part.Call.ID))
		}
	}
	return ids
}

// sealed reports whether a part must be returned unchanged: one with a signature.
func (gemini) sealed(item json.RawMessage) bool {
	var part geminiPart
	return json.Unmarshal(item, &part) == nil && part.Signature != ""
}
