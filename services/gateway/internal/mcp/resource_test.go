package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// publish publishes a fact of a job.
func (s *site) publish(e events.Event) {
	s.Helper()
	e.Source = "test"
	m, err := events.Encode(s.bus.Names(), e)
	if err == nil {
		_, err = s.bus.Publish(s.Context(), m, bus.Expect{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

func TestAJobsEventsAndFilesAreResources(t *testing.T) {
	s := open(t)
	text, picture := []byte("# Report\n"), []byte("\x89PNG\r\n\x1a\n\xff")
	ref := func(name, media string, body []byte) events.Ref {
		r := musttest.Get(s.bus.Blobs().Put(t.Context(), "j", body))(t)
		r.Name, r.MediaType = name, media
		return r
	}
	s.publish(events.Event{Job: "j", Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{Goal: "g", ID: "j"}, Rules: events.Rules{Version: events.RulesVersion}}})
	s.publish(events.Event{Job: "j", Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "write", Expert: "Writer"}}}}})
	s.publish(events.Event{Job: "j", Kind: events.KindSubJobReported, SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Artifacts: []events.Ref{
		ref("out/report.md", "text/markdown", text), ref("a.png", "image/png", picture), ref("large", "text/plain", make([]byte, 1<<20+1)),
	}}})
	s.change("j", func(*verb.Waited) {})
	g := s.start()
	for _, revision := range revisions {
		c := s.connect(g, token(verb.Viewer), revision, nil)
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 5 {
			t.Errorf("%+v, %v", templates, err)
		}
		list, err := c.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "jobgraph://jobs/j" || list.Resources[0].Title != "goal of j" {
			t.Errorf("%+v, %v", list, err)
		}
		for uri, want := range map[string]string{
			"jobgraph://jobs/j":                           `application/json {"changed"`,
			"jobgraph://jobs/j/events":                    `application/json {"events":[{"seq":1,`,
			"jobgraph://jobs/j/events?after=1":            `application/json {"events":[{"seq":2,`,
			"jobgraph://jobs/j/artifacts":                 `application/json {"artifacts":[{"subjob":"a",`,
			"jobgraph://jobs/j/artifacts/a/out/report.md": "text/markdown # Report\n",
			"jobgraph://jobs/j/artifacts/a/a.png":         fmt.Sprintf("image/png %s", picture),
			"jobgraph://jobs/j/plan":                      `application/json {"job_id":"j","plan":`,
			"jobgraph://jobs/j/artifacts/a/none":          "error -32602 name: the job has no file a/none",
			"jobgraph://jobs/j/artifacts/a/large":         "error -32602 name: the file has 1048577 bytes, at most 1048576 are given here",
			"jobgraph://jobs/j/events?after=x":            "error -32602 ",
			"jobgraph://jobs/none":                        "error -32602 id: there is no job none",
			"jobgraph://jobs/none/events":                 "error -32602 ",
			"jobgraph://jobs/j/other":                     "error -32602 Resource not found",
			"file:///etc/passwd":                          "error -32602 Resource not found",
		} {
			var got string
			out, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				got = fmt.Sprintf("error %d %v", code(err), err)
				got = strings.NewReplacer(`calling "resources/read": `, "", `sending "resources/read": `, "").Replace(got)
			} else {
				got = fmt.Sprintf("%s %s%s", out.Contents[0].MIMEType, out.Contents[0].Text, out.Contents[0].Blob)
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: %.200q, want %q", uri, got, want)
			}
		}
		for _, begin := range []string{"", "j", "k"} {
			done, err := c.Complete(t.Context(), &sdk.CompleteParams{
				Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "jobgraph://jobs/{id}"}, Argument: sdk.CompleteParamsArgument{Name: "id", Value: begin},
			})
			if err != nil || len(done.Completion.Values) != map[string]int{"": 1, "j": 1}[begin] {
				t.Errorf("%q is completed to %+v, %v", begin, done, err)
			}
		}
	}
}

func TestKeptPlansArePrompts(t *testing.T) {
	s := open(t)
	g := s.start()
	for _, revision := range revisions {
		c := s.connect(g, token(verb.Viewer), revision, nil)
		list, err := c.ListPrompts(t.Context(), nil)
		if err != nil || len(list.Prompts) != 2 || list.Prompts[0].Name != "goal" || list.Prompts[1].Name != "plan:trip" || list.Prompts[1].Title != "Plan a trip" || list.Prompts[1].Description != "Runs the kept plan: book; pack" {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, test := range []struct {
			name string
			args map[string]string
			want []string
		}{
			{"goal", map[string]string{"goal": "count to 3"}, []string{"call the tool submit", `"goal": "count to 3"`}},
			{"goal", nil, []string{"goal: there is no goal"}},
			{"plan:trip", nil, []string{`"goal": "Plan a trip"`, `"subjobs": [`, `"goal": "book"`}},
			{"plan:trip", map[string]string{"goal": "to Rome"}, []string{`"goal": "to Rome"`}},
			{"plan:none", nil, []string{"plan_id: there is no such plan"}},
			{"other", nil, []string{`unknown prompt "other"`}},
		} {
			text := ""
			got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: test.name, Arguments: test.args})
			if err != nil {
				text = err.Error()
			} else if said, ok := got.Messages[0].Content.(*sdk.TextContent); ok {
				text = said.Text
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s %v: %s, want %q", test.name, test.args, text, want)
				}
			}
		}
	}
}
