package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// jobsURI begins the addresses of all resources.
const jobsURI = "jobgraph://jobs/"

// Limits of resources: the jobs in a list, the events in an answer, and the size of a file in bytes.
const (
	listedJobs = 50
	mostEvents = 500
	mostFile   = 1 << 20
)

// addResources offers jobs with their events and files as resources.
func (s *Server) addResources() {
	for _, t := range []sdk.ResourceTemplate{
		{Name: "job", Title: "A job", URITemplate: jobsURI + "{id}", MIMEType: "application/json", Description: "The state of a job."},
		{Name: "events", Title: "Events of a job", URITemplate: jobsURI + "{id}/events{?after}", MIMEType: "application/json", Description: fmt.Sprintf("The events of a job, %d at a time; after is the seq of the last one that you have.", mostEvents)},
		{Name: "plan", Title: "Plan of a job", URITemplate: jobsURI + "{id}/plan", MIMEType: "application/json", Description: "The plan of a job with the results of its steps."},
		{Name: "artifacts", Title: "Files of a job", URITemplate: jobsURI + "{id}/artifacts", MIMEType: "application/json", Description: "The files that the SubJobs of a job have handed over."},
		{Name: "artifact", Title: "A file of a job", URITemplate: jobsURI + "{id}/artifacts/{+path}", Description: "A file, by SUBJOB/NAME or the beginning of its digest."},
	} {
		s.sdk.AddResourceTemplate(&t, s.read)
	}
}

// jobs lists the newest jobs as resources.
func (s *Server) jobs(ctx context.Context) ([]*sdk.Resource, error) {
	lines, err := s.newest(ctx, listedJobs)
	if err != nil {
		return nil, err
	}
	list := []*sdk.Resource{}
	for i := range lines {
		j := &lines[i]
		list = append(list, &sdk.Resource{URI: jobsURI + j.ID, Name: j.ID, Title: oneLine(j.Goal), Description: string(j.Status), MIMEType: "application/json"})
	}
	return list, nil
}

// newest lists jobs, newest first; none for a user who may not list jobs.
func (s *Server) newest(ctx context.Context, most int) ([]verb.JobLine, error) {
	text, err := s.Door.Do(ctx, who(ctx), "list", verb.JobQuery{Limit: most})
	if err != nil {
		return nil, s.protocol(err)
	}
	var page verb.Jobs
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, err
	}
	return page.Jobs, nil
}

// read answers resources/read.
func (s *Server) read(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	at, err := url.Parse(uri)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	id, rest, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	ref := verb.Ref{ID: id}
	give := func(name string, in any) (*sdk.ReadResourceResult, error) {
		text, err := s.Door.Do(ctx, who(ctx), name, in)
		if err != nil {
			return nil, s.missing(uri, err)
		}
		return contents(&sdk.ResourceContents{URI: uri, MIMEType: "application/json", Text: string(text)}), nil
	}
	name, path, _ := strings.Cut(rest, "/")
	switch {
	case rest == "":
		return give("get", ref)
	case rest == "events":
		in := verb.EventQuery{Ref: ref, Limit: mostEvents}
		if after := at.Query().Get("after"); after != "" {
			if in.After, err = strconv.ParseUint(after, 10, 64); err != nil {
				return nil, s.protocol(&events.Fault{Code: events.CodeInvalid, Field: "after", Message: "it is not the seq of an event", Hint: "give the seq of the last event that you have"})
			}
		}
		return give("events", in)
	case rest == "plan":
		return give("plan", ref)
	case rest == "artifacts":
		return give("artifacts", ref)
	case name == "artifacts":
		body, media, err := s.Door.File(ctx, who(ctx), verb.ArtifactRef{Ref: ref, Name: path}, mostFile)
		if err != nil {
			return nil, s.missing(uri, err)
		}
		file := &sdk.ResourceContents{URI: uri, MIMEType: media, Text: string(body)}
		if !utf8.Valid(body) {
			file.Text, file.Blob = "", body
		}
		return contents(file), nil
	}
	return nil, sdk.ResourceNotFoundError(uri)
}

func contents(c *sdk.ResourceContents) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}
}

// missing is an error of the protocol about a resource.
func (s *Server) missing(uri string, err error) error {
	if f := s.Door.Fault(err); f.Code == events.CodeNotFound && f.Field == "" {
		return sdk.ResourceNotFoundError(uri)
	}
	return s.protocol(err)
}

// protocol converts a fault to a protocol error, whose data contains the fault.
func (s *Server) protocol(err error) error {
	f := s.Door.Fault(err)
	code := int64(jsonrpc.CodeInvalidParams)
	if f.Code == events.CodeInternal || f.Code == events.CodeUnavailable {
		code = jsonrpc.CodeInternalError
	}
	data, _ := json.Marshal(f) // Strings can always be encoded.
	return &jsonrpc.Error{Code: code, Message: f.Error(), Data: data}
}

// complete completes the ids of jobs in addresses.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	if r.Params.Ref == nil || r.Params.Ref.Type != "ref/resource" || r.Params.Argument.Name != "id" {
		return out, nil
	}
	lines, err := s.newest(ctx, 500)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		if strings.HasPrefix(lines[i].ID, r.Params.Argument.Value) {
			out.Completion.Values = append(out.Completion.Values, lines[i].ID)
		}
	}
	const most = 100 // The limit of the protocol.
	out.Completion.Total = len(out.Completion.Values)
	out.Completion.HasMore = out.Completion.Total > most
	out.Completion.Values = slices.Clip(out.Completion.Values[:min(most, out.Completion.Total)])
	return out, nil
}
