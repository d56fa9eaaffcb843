package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// revisions are the revisions of the protocol that are tested: with sessions, and without.
var revisions = []string{"2025-11-25", "2026-07-28"}

// fits fails the test unless a result has structured content that fits the schema of its tool.
func (s *site) fits(tools []*sdk.Tool, name string, out *sdk.CallToolResult) {
	s.Helper()
	at := slices.IndexFunc(tools, func(t *sdk.Tool) bool { return t.Name == name })
	text := musttest.JSON(s, tools[at].OutputSchema)
	of := musttest.Get(schema.Read(text))(s)
	got := musttest.JSON(s, out.StructuredContent)
	if misfits := of.Misfits(got); out.IsError || len(misfits) > 0 {
		s.Errorf("%s: error %t, %s misfits %q", name, out.IsError, got, misfits)
	}
}

func TestToolsAreTheMarkedVerbsThatTheRoleMayUse(t *testing.T) {
	s := open(t)
	g := s.start()
	for _, role := range verb.Roles() {
		var got, want []string
		tools := musttest.Get(s.connect(g, token(role), "2026-07-28", nil).ListTools(t.Context(), nil))(t)
		for _, tool := range tools.Tools {
			got = append(got, tool.Name)
			v, _ := verb.Find(tool.Name)
			a := tool.Annotations
			if a.ReadOnlyHint != (v.Effect == verb.Read) || *a.DestructiveHint != (v.Effect == verb.Destroy) || tool.Description != v.About {
				t.Errorf("%s is annotated as %+v, its effect is %s", tool.Name, a, v.Effect)
			}
			text := musttest.JSON(t, tool.InputSchema)
			for _, by := range v.By {
				if strings.Contains(string(text), `"`+by+`":`) {
					t.Errorf("%s asks for %s: %s", tool.Name, by, text)
				}
			}
		}
		for _, v := range verb.All() {
			if own := v.Name == "stop" && role == verb.Submitter; v.Tool && (v.Permits([]verb.Role{role}) || own) {
				want = append(want, v.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) < 6 {
			t.Errorf("%s has %v, want %v", role, got, want)
		}
	}
}

func TestACallIsJudgedAsARequestOfItsRoute(t *testing.T) {
	s := open(t)
	g := s.start()
	s.requested("theirs", "boss")
	for _, revision := range revisions {
		submitter, operator := s.connect(g, token(verb.Submitter), revision, nil), s.connect(g, token(verb.Operator), revision, nil)
		tools := musttest.Get(s.connect(g, token(verb.Admin), revision, nil).ListTools(t.Context(), nil))(t)
		id := "j" + revision
		out, _ := s.call(submitter, "submit", object{"goal": "g", "id": id})
		s.fits(tools.Tools, "submit", out)
		for name, args := range map[string]object{"get": {"id": id}, "list": {}, "why": {"id": id}, "inputs": {"id": id}} {
			out, _ := s.call(submitter, name, args)
			s.fits(tools.Tools, name, out)
		}
		for _, test := range []struct {
			as   *sdk.ClientSession
			name string
			args any
			code events.Code
		}{
			{submitter, "stop", object{"id": "theirs"}, events.CodeNotPermitted},
			{operator, "submit", object{"goal": "g"}, events.CodeNotPermitted},
			{submitter, "submit", object{"goal": "g", "user": "boss"}, events.CodeNotPermitted},
			{submitter, "submit", object{"goal": "g", "gaol": 1}, events.CodeUnknownField},
			{operator, "stop", object{"id": "none"}, events.CodeNotFound},
			{operator, "wait", object{"id": "none"}, events.CodeNotFound},
			{operator, "wait", object{"id": id, "til": 1}, events.CodeMalformed},
			{operator, "diff", object{"id": "none", "with": "other"}, events.CodeNotFound},
			{submitter, "fork", object{"id": "none"}, events.CodeNotFound},
		} {
			out, text := s.call(test.as, test.name, test.args)
			var fault events.Fault
			if err := json.Unmarshal([]byte(text), &fault); err != nil || !out.IsError || fault.Code != test.code || fault.Message == "" || fault.Hint == "" {
				t.Errorf("%s %v: error %t, %s, want %s with a hint", test.name, test.args, out.IsError, text, test.code)
			}
		}
		out, _ = s.call(operator, "stop", object{"id": id, "reason": "r"})
		s.fits(tools.Tools, "stop", out)
		if _, err := submitter.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete", Arguments: object{"id": id}}); err == nil || !strings.Contains(err.Error(), `unknown tool "delete"`) {
			t.Errorf("delete: %v", err)
		}
	}
	want := []string{
		`submit {"goal":"g","id":"j2025-11-25","user":"submitter"}`, `stop {"by":"operator","id":"none"}`, `stop {"by":"operator","id":"j2025-11-25","reason":"r"}`,
		`submit {"goal":"g","id":"j2026-07-28","user":"submitter"}`, `stop {"by":"operator","id":"none"}`, `stop {"by":"operator","id":"j2026-07-28","reason":"r"}`,
	}
	if got := s.told(); !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}
}
