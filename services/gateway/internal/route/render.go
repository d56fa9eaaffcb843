package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/render"
)

// rendering sends inert HTML for a text.
func rendering(c *call) error {
	var in verb.Rendering
	if err := c.into(&in); err != nil {
		return err
	}
	var out verb.Rendered
	switch in.Kind {
	case "markdown":
		out.HTML, out.Truncated = render.Markdown(in.Text)
	case "code":
		out.HTML, out.Truncated = render.Code(in.Text, in.Language)
	case "json":
		out.HTML, out.Truncated = render.JSON(in.Text)
	case "diff":
		out.HTML, out.Truncated = render.Diff(textOf(in.Before), textOf(in.After))
	default:
		return &events.Fault{Code: events.CodeInvalid, Field: "kind", Message: "unknown kind " + clip(in.Kind), Hint: "use markdown, code, json or diff"}
	}
	return c.reply(out)
}

// textOf returns the content of a JSON string, or any other value as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// preview shows the beginning of a file; no more of it is read.
func preview(c *call) error {
	log, err := c.gateway.Client.Logs().Fold(c.r.Context(), c.text("id"), 0)
	if err != nil {
		return err
	}
	a := find(log.Artifacts(""), c.text("name"))
	if a == nil {
		return &events.Fault{Code: events.CodeNotFound, Field: "name", Message: "the job has no file " + clip(c.text("name")), Hint: "GET /api/v1/jobs/" + log.Job.ID + "/artifacts lists them"}
	}
	head := &headWriter{most: render.MaxHead}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	if err := c.gateway.Client.Fetch(ctx, log.Job.ID, a.Ref, head); err != nil && !errors.Is(err, errFull) {
		return err
	}
	p := render.PreviewOf(a.Name, a.MediaType, head.Bytes(), a.Size <= render.MaxHead)
	out := verb.Preview{Name: a.Name, MediaType: mediaOf(a.MediaType), Size: a.Size, Kind: p.Kind, HTML: p.HTML, Rows: p.Rows, Truncated: p.Cut}
	if p.Kind == render.Image {
		out.Src, out.Truncated = c.at("artifacts", a.Digest), false
	}
	return c.reply(out)
}

// headWriter stores the beginning of a file and then refuses more.
type headWriter struct {
	bytes.Buffer
	most int
}

// errFull stops reading a file once its beginning is complete.
var errFull = errors.New("the beginning is complete")

// Write implements io.Writer.
func (h *headWriter) Write(p []byte) (int, error) {
	room := h.most - h.Len()
	if len(p) < room {
		return h.Buffer.Write(p)
	}
	_, _ = h.Buffer.Write(p[:room]) // Writing to a buffer does not fail.
	return room, errFull
}

// payload sends a payload by its digest, always as an attachment, since runs chose its content.
func payload(c *call) error {
	var in verb.PayloadRef
	if err := c.into(&in); err != nil {
		return err
	}
	if len(in.Digest) != 64 || !events.ValidToken(in.Digest) {
		return &events.Fault{Code: events.CodeInvalid, Field: "digest", Message: clip(in.Digest) + " is no digest", Hint: "give the SHA-256 of the payload, 64 hexadecimal digits"}
	}
	return c.attach(in.Digest, "application/octet-stream", func(w io.Writer) error {
		return c.gateway.Client.Fetch(c.r.Context(), in.ID, events.Ref{Digest: in.Digest}, w)
	})
}

// export sends everything about a job as one file.
func export(c *call) error {
	x, err := c.gateway.Client.Archive().Export(c.r.Context(), c.text("id"), time.Now())
	if err != nil {
		return err
	}
	return c.attach(x.Job+".jsonl", "application/x-ndjson", x.Write)
}

// attach sends a file of unknown length. An error after its beginning closes the connection, so that a part does not look complete.
func (c *call) attach(name, media string, write func(w io.Writer) error) error {
	out := &attachment{call: c, name: name, media: media}
	err := write(out)
	if err != nil && c.sent {
		panic(http.ErrAbortHandler)
	}
	if err == nil && !c.sent {
		out.begin()
	}
	return err
}

// attachment begins the answer with the first byte of the file.
type attachment struct {
	*call
	name, media string
}

func (a *attachment) begin() {
	a.sent = true
	a.w.Header().Set("Content-Type", a.media)
	a.w.Header().Set("Content-Disposition", `attachment; filename="`+plain(a.name)+`"`)
	a.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (a *attachment) Write(p []byte) (int, error) {
	if !a.sent {
		a.begin()
	}
	return paced{a.w, http.NewResponseController(a.w), a.gateway.Write}.Write(p)
}

// me returns the user of the request.
func me(c *call) error {
	out := verb.Me{User: c.who.User, Name: c.who.Name(), Roles: c.who.Roles, Verbs: []string{}, Version: c.gateway.Version}
	for _, v := range verb.All() {
		switch {
		case v.Path == "":
		case v.Permits(c.who.Roles):
			out.Verbs = append(out.Verbs, v.Name)
		case v.MayUse(c.who.Roles):
			out.Own = append(out.Own, v.Name)
		}
	}
	return c.reply(out)
}
