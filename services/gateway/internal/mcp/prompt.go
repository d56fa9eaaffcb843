package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// goalPrompt is the prompt for a job from a goal; planPrompt begins the names of the prompts for plan documents.
const goalPrompt, planPrompt = "goal", "plan:"

// board has the fields of a plan document that prompts need.
type board struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Lines []struct {
		Text string `json:"text"`
	} `json:"lines"`
}

// prompts lists what a person can begin with: a goal, or a plan document in the book main.
func (s *Server) prompts(ctx context.Context) ([]*sdk.Prompt, error) {
	list := []*sdk.Prompt{{
		Name: goalPrompt, Title: "Run a goal as a job", Description: "Submits a goal, waits for it and puts its questions to you.",
		Arguments: []*sdk.PromptArgument{{Name: "goal", Description: "What is to be done.", Required: true}},
	}}
	kept, err := s.plans(ctx, "list", verb.PlanOperation{})
	if err != nil {
		if f := s.Door.Fault(err); f.Code == events.CodeUnavailable || f.Code == events.CodeNotPermitted {
			return list, nil // Without a planner there are no plans.
		}
		return nil, s.protocol(err)
	}
	for i := range kept.Plans {
		b := &kept.Plans[i]
		about := make([]string, 0, len(b.Lines))
		for _, l := range b.Lines {
			about = append(about, l.Text)
		}
		list = append(list, &sdk.Prompt{
			Name: planPrompt + b.ID, Title: oneLine(b.Title), Description: oneLine("Runs the kept plan: " + strings.Join(about, "; ")),
			Arguments: []*sdk.PromptArgument{{Name: "goal", Description: "What this run is about, in place of the title of the plan."}},
		})
	}
	slices.SortFunc(list[1:], func(a, b *sdk.Prompt) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// keptPlans has the fields of a plan operation's reply that prompts need.
type keptPlans struct {
	Plan    *board          `json:"plan"`
	Plans   []board         `json:"plans"`
	Request json.RawMessage `json:"request"`
}

func (s *Server) plans(ctx context.Context, command string, in verb.PlanOperation) (*keptPlans, error) {
	text, err := s.Door.Do(ctx, who(ctx), "plan."+command, in)
	if err != nil {
		return nil, err
	}
	var out keptPlans
	return &out, json.Unmarshal(text, &out)
}

// prompt answers prompts/get.
func (s *Server) prompt(ctx context.Context, p *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	goal := strings.TrimSpace(p.Arguments["goal"])
	id, kept := strings.CutPrefix(p.Name, planPrompt)
	switch {
	case p.Name == goalPrompt && goal == "":
		return nil, s.protocol(&events.Fault{Code: events.CodeMissing, Field: "goal", Message: "there is no goal", Hint: "say what is to be done"})
	case p.Name == goalPrompt:
		return begin("Run a goal as a job", object{"goal": goal})
	case !kept:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", oneLine(p.Name))}
	}
	found, err := s.plans(ctx, "get", verb.PlanOperation{PlanID: id})
	if err != nil {
		return nil, s.protocol(err)
	}
	if found.Plan == nil || len(found.Request) == 0 {
		return nil, s.protocol(errors.New("the planner gave no plan"))
	}
	request := object{"plan": found.Request, "goal": found.Plan.Title}
	if goal != "" {
		request["goal"] = goal
	}
	return begin(found.Plan.Title, request)
}

// begin returns a message that makes a model submit a request.
func begin(title string, request object) (*sdk.GetPromptResult, error) {
	text, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return nil, err
	}
	words := "Run this as a job of Jobgraph: call the tool submit with the arguments below, then wait until it has ended. Put its questions to me. At the end, tell me its result.\n\n```json\n" + string(text) + "\n```"
	return &sdk.GetPromptResult{Description: oneLine(title), Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: words}}}}, nil
}
