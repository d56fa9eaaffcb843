package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// waitTool is the verb that is handled here, because it asks questions and reports progress while it waits.
const waitTool = "wait"

// addTools offers the verbs that the table marks as tools.
func (s *Server) addTools() {
	for _, v := range verb.All() {
		if !v.Tool {
			continue
		}
		answer := s.answerer(v.Name)
		if v.Name == waitTool {
			answer = s.wait
		}
		s.sdk.AddTool(toolOf(&v), answer)
	}
}

// toolOf describes a verb as a tool.
func toolOf(v *verb.Verb) *sdk.Tool {
	changes, destroys := v.Effect != verb.Read, v.Effect == verb.Destroy
	return &sdk.Tool{
		Name: v.Name, Description: v.About, InputSchema: inputOf(v), OutputSchema: outputOf(v),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !changes, DestructiveHint: &destroys, IdempotentHint: !changes || destroys, OpenWorldHint: &changes},
	}
}

// object is a JSON object.
type object = map[string]any

// inputOf returns the schema of a verb's input without the fields that the server sets: the user.
func inputOf(v *verb.Verb) object {
	s := schemaOf(v.InputSchema())
	if properties, ok := s["properties"].(object); ok {
		for _, by := range v.By {
			delete(properties, by)
		}
	}
	if list, ok := s["required"].([]any); ok {
		s["required"] = slices.DeleteFunc(list, func(name any) bool {
			text, ok := name.(string)
			return ok && slices.Contains(v.By, text)
		})
	}
	return s
}

func outputOf(v *verb.Verb) object { return schemaOf(v.OutputSchema()) }

// schemaOf returns a schema of the table; without one any object matches.
func schemaOf(name string) object {
	text, ok := verb.Schema(name)
	var s object
	if !ok || json.Unmarshal(text, &s) != nil { // Cannot happen: the schemas are generated and tested.
		return object{"type": "object"}
	}
	delete(s, "$schema")
	delete(s, "title")
	return s
}

// answerer returns the handler of a tool that executes its verb.
func (s *Server) answerer(name string) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		out, err := s.Door.Do(ctx, who(ctx), name, arguments(r))
		if err != nil {
			return s.failed(err), nil
		}
		return structured(out), nil
	}
}

// arguments returns the arguments of a call; an empty object if there are none.
func arguments(r *sdk.CallToolRequest) json.RawMessage {
	if len(r.Params.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return r.Params.Arguments
}

// structured returns a result for programs, and the same as text for models.
func structured(out json.RawMessage) *sdk.CallToolResult {
	return &sdk.CallToolResult{StructuredContent: out, Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}}
}

// failed returns a fault as the result of a tool: the model sees its code and what to do next.
func (s *Server) failed(err error) *sdk.CallToolResult {
	type all struct {
		*events.Fault
		Faults events.Faults `json:"faults,omitempty"`
	}
	told := all{Fault: s.Door.Fault(err)}
	var faults events.Faults
	if errors.As(err, &faults) && len(faults) > 1 {
		told.Faults = faults
	}
	text, _ := json.Marshal(told) // Strings can always be encoded.
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// lists removes from the list of tools what the user may not use, and makes the lists of resources and prompts for the user.
func (s *Server) lists(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method == "prompts/get" {
			if p, ok := r.GetParams().(*sdk.GetPromptParams); ok {
				return s.prompt(ctx, p)
			}
		}
		out, err := next(ctx, method, r)
		if err != nil {
			return out, err
		}
		switch list := out.(type) {
		case *sdk.ListToolsResult:
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool {
				v, ok := verb.Find(t.Name)
				return !ok || !v.MayUse(who(ctx).Roles)
			})
		case *sdk.ListResourcesResult:
			list.Resources, err = s.jobs(ctx)
		case *sdk.ListPromptsResult:
			list.Prompts, err = s.prompts(ctx)
		}
		return out, err
	}
}

// oneLine shortens a text of a job to a title.
func oneLine(text string) string {
	const most = 80
	return clip.Marked(strings.Join(strings.Fields(text), " "), most)
}
