package route

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// graph shows the graph of a job at an event, as JSON with places or as a picture.
func graph(c *call) error {
	var in verb.GraphQuery
	if err := c.into(&in); err != nil {
		return err
	}
	if in.Format == "" && strings.Contains(c.r.Header.Get("Accept"), "image/svg+xml") {
		in.Format = "svg"
	}
	if in.Format != "" && in.Format != "json" && in.Format != "svg" {
		return &events.Fault{Code: events.CodeInvalid, Field: "format", Message: "unknown format " + clip(in.Format), Hint: "use json or svg"}
	}
	head, err := c.gateway.history.Head(c.r.Context(), in.ID)
	if err != nil {
		return err
	}
	if c.unchanged(fmt.Sprintf("g%d-%d-%d%s", head, in.At, in.Since, in.Format)) {
		return nil
	}
	var g verb.Graph
	take := func(at *canvas.Canvas) error {
		if g = at.Graph(); in.Since > 0 {
			g = at.Since(in.Since)
		}
		return nil
	}
	if in.At > 0 && in.At < head {
		err = c.gateway.history.At(c.r.Context(), in.ID, in.At, take)
	} else {
		err = c.gateway.history.Use(c.r.Context(), in.ID, take)
	}
	if err != nil {
		return err
	}
	if g.Head = max(head, g.Seq); in.Format == "svg" {
		return c.picture(&g)
	}
	return c.reply(g)
}

// unchanged answers 304 if the reader has the answer with a tag; otherwise it sets the tag.
func (c *call) unchanged(tag string) bool {
	tag = `W/"` + tag + "-" + strings.Map(func(r rune) rune {
		if r == '"' {
			return -1
		}
		return r
	}, c.gateway.Version) + `"`
	c.w.Header().Set("ETag", tag)
	if !matches(c.r.Header.Get("If-None-Match"), tag) {
		return false
	}
	c.sent = true
	c.w.Header().Set("Cache-Control", "private, no-cache")
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

// picture answers with the graph as SVG.
func (c *call) picture(g *verb.Graph) error {
	picture := drawing.Graph{Title: g.JobID}
	for i := range g.SubJobs {
		n := &g.SubJobs[i]
		picture.Nodes = append(picture.Nodes, drawing.Node{ID: n.ID, Title: n.Title, Expert: n.Expert, Status: string(n.Status), Dependencies: n.Deps})
	}
	var text bytes.Buffer
	if err := drawing.Draw(&text, picture, "svg", 0); err != nil {
		return err
	}
	c.sent = true
	send(c.w, c.r, http.StatusOK, "image/svg+xml", text.Bytes())
	return nil
}

// timeline gives the history of a job's graph, for a slider.
func timeline(c *call) error {
	var in verb.TimelineQuery
	if err := c.into(&in); err != nil {
		return err
	}
	ctx := c.r.Context()
	head, err := c.gateway.history.Head(ctx, in.ID)
	if err != nil {
		return err
	}
	if !in.Calls && c.unchanged(fmt.Sprintf("t%d", head)) {
		return nil
	}
	var t verb.Timeline
	if err := c.gateway.history.Use(ctx, in.ID, func(now *canvas.Canvas) error { t = now.Timeline(); return nil }); err != nil {
		return err
	}
	if in.Calls {
		if t.Calls, err = c.gateway.Client.Journals().Timed(ctx, in.ID, t.Created); err != nil {
			return err
		}
	}
	return c.reply(t)
}

// layout draws a plan that is not run yet.
func layout(c *call) error {
	var in verb.Draft
	if err := c.into(&in); err != nil {
		return err
	}
	var p events.Plan
	if err := events.ReadPlan(in.Plan, &p); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Field: "plan", Message: "the plan cannot be read", Cause: err.Error(), Hint: "docs/plans.md has the fields of the native form"}
	}
	if len(p.SubJobs) == 0 {
		return &events.Fault{Code: events.CodeMissing, Field: "plan.subjobs", Message: "the plan has no subjobs", Hint: "other dialects are drawn once the planner has read them"}
	}
	picture, faults := canvas.Draft(&p)
	return c.reply(verb.Drawn{Layout: picture, Faults: faults})
}
