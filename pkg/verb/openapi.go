package verb

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// OpenAPI describes the HTTP API in the form of OpenAPI 3.1, made from the table.
func OpenAPI(version string) map[string]any {
	paths := map[string]object{}
	schemas := object{"Problem": problemSchema(), "OpenAIError": openAIErrorSchema()}
	for _, v := range All() {
		for at, path := range v.Paths() {
			template := strings.ReplaceAll(path, "...}", "}")
			if paths[template] == nil {
				paths[template] = object{}
			}
			op := v.operation(path)
			if at > 0 {
				op["operationId"] = v.Name + "." + strconv.Itoa(at+1)
			}
			paths[template][strings.ToLower(v.Method)] = op
		}
		for _, name := range []string{v.InputSchema(), v.OutputSchema(), v.Stream} {
			if text, ok := Schema(name); ok && v.Path != "" {
				schemas[name] = openSchema(text)
			}
		}
	}
	notice, _ := Schema("Notice")
	schemas["Notice"] = openSchema(notice)
	return object{
		"openapi":           "3.1.0",
		"info":              object{"title": "Jobgraph", "version": version, "description": "Jobs of many agents, durable and in the open."},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"servers":           []object{{"url": "/"}},
		"security":          []object{{"token": []string{}}, {"cookie": []string{}}},
		"paths":             paths,
		"webhooks":          webhooks(),
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"token":  object{"type": "http", "scheme": "bearer"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": "jobgraph_token"},
			},
		},
	}
}

// openSchema returns a schema as a component, in the dialect of the document.
func openSchema(text []byte) object {
	var s object
	_ = json.Unmarshal(text, &s) // The text is generated and tested.
	delete(s, "$schema")
	return s
}

func problemSchema() object {
	text := object{"type": "string"}
	return object{
		"type": "object", "description": "A fault as RFC 9457 has it.", "required": []string{"type", "title", "status", "detail", "code", "message"},
		"properties": object{
			"type": text, "title": text, "status": object{"type": "integer"}, "detail": text, "code": text, "message": text, "field": text, "cause": text, "hint": text,
			"job_id": text, "faults": object{"type": "array", "items": object{"type": "object"}},
		},
	}
}

// openAIErrorSchema returns the schema of a fault in the form of OpenAI's API.
func openAIErrorSchema() object {
	text := object{"type": "string"}
	return object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{
		"type": "object", "required": []string{"message", "type"}, "properties": object{"message": text, "type": text, "param": object{"type": []string{"string", "null"}}, "code": text},
	}}}
}

var segment = regexp.MustCompile(`\{([a-z_]+)(\.\.\.)?\}`)

// operation describes a route of a verb.
func (v *Verb) operation(path string) object {
	op := object{"operationId": v.Name, "summary": v.About, "tags": []string{v.tag()}, "x-roles": append(slices.Clone(v.Roles), Admin), "x-effect": v.Effect}
	var inPath []string
	parameters := []object{}
	for _, m := range segment.FindAllStringSubmatch(path, -1) {
		inPath = append(inPath, m[1])
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	if v.Method == http.MethodGet || v.Method == http.MethodDelete {
		parameters = append(parameters, v.queryParameters(inPath)...)
	} else if name := v.InputSchema(); name != "" {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": v.bodySchema(inPath)}}}
	}
	if v.Stream != "" && v.API == "" {
		parameters = append(parameters, object{"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string"}, "description": "Resumes a stream after this event."})
	}
	if v.API == OpenAI && v.Effect == Write {
		parameters = append(parameters, object{"name": "Jobgraph-Session", "in": "header", "schema": object{"type": "string", "maxLength": 256}, "description": "The session that the conversation is."})
	}
	if v.Name == "submit" || v.Name == "fork" || v.API == OpenAI && v.Effect == Write {
		parameters = append(parameters, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "maxLength": 255}, "description": "The same key of the same user always means the same job; with another request it is refused with 422."})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	op["responses"] = v.responses()
	return op
}

// tag returns the group of a verb in the document.
func (v *Verb) tag() string {
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(v.Path, "/api"), "/v1/"), "/")
	return parts[0]
}

// bodySchema returns the schema of the input without the fields in the path.
func (v *Verb) bodySchema(inPath []string) object {
	text, _ := Schema(v.InputSchema())
	s := openSchema(text)
	if len(inPath) == 0 {
		return object{"$ref": "#/components/schemas/" + v.InputSchema()}
	}
	if properties, ok := s["properties"].(object); ok {
		for _, name := range inPath {
			delete(properties, name)
		}
	}
	if required, ok := s["required"].([]any); ok {
		required = slices.DeleteFunc(required, func(name any) bool {
			text, ok := name.(string)
			return ok && slices.Contains(inPath, text)
		})
		if s["required"] = required; len(required) == 0 {
			delete(s, "required")
		}
	}
	delete(s, "title")
	return s
}

// queryParameters returns the fields of the input that are not in the path.
func (v *Verb) queryParameters(inPath []string) []object {
	text, ok := Schema(v.InputSchema())
	if !ok {
		return nil
	}
	whole := openSchema(text)
	properties, _ := whole["properties"].(object)
	required, _ := whole["required"].([]any)
	var list []object
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(inPath, name) {
			continue
		}
		schema, _ := properties[name].(object)
		if schema["type"] == "object" {
			schema = object{"type": "array", "items": object{"type": "string"}, "description": "NAME=VALUE"}
		}
		p := object{"name": name, "in": "query", "schema": schema}
		if slices.Contains(required, any(name)) {
			p["required"] = true
		}
		list = append(list, p)
	}
	return list
}

// responses describes the success and the refusals.
func (v *Verb) responses() object {
	status := v.Status
	if status == 0 {
		status = 200
	}
	content := object{}
	media := v.Media
	if len(media) == 0 {
		media = []string{"application/json"}
	}
	for _, m := range media {
		content[m] = object{"schema": object{}}
		if name := v.OutputSchema(); name != "" && m == "application/json" {
			content[m] = object{"schema": object{"$ref": "#/components/schemas/" + name}}
		}
	}
	if v.Stream != "" {
		content["text/event-stream"] = object{"schema": object{"type": "string", "description": "Server-sent events; the data of each is a " + v.Stream + "."}, "x-event-data": object{"$ref": "#/components/schemas/" + v.Stream}}
	}
	list := object{strconv.Itoa(status): object{"description": v.About, "content": content}}
	by := map[int][]string{}
	for _, code := range v.Codes() {
		by[Status(code)] = append(by[Status(code)], string(code))
	}
	if v.Name == "submit" {
		by[422] = append(by[422], "conflict")
	}
	kind, schema := "application/problem+json", "Problem"
	if v.API == OpenAI {
		kind, schema = "application/json", "OpenAIError"
	}
	for status, codes := range by {
		list[strconv.Itoa(status)] = object{
			"description": strings.Join(codes, ", "), "content": object{kind: object{"schema": object{"$ref": "#/components/schemas/" + schema}}},
		}
	}
	return list
}
