package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
)

// Knowledge manages the documents that experts may read, in bases: global ones, those of users, and those of sessions.
type Knowledge struct{ client *Client }

// Of returns the documents of one base.
func (k Knowledge) Of(b bases.Base) Documents { return Documents{client: k.client, base: b} }

// Bases lists the global bases, sorted by name. Errors: those of the bus.
func (k Knowledge) Bases(ctx context.Context) ([]bases.Base, error) {
	return k.client.bus.Documents().Bases(ctx)
}

// Search finds up to most passages in some bases, best first, as agents do. It reads the documents of the bases, so its first call
// for a base takes time. Errors: those of the bus.
func (k Knowledge) Search(ctx context.Context, bases []bases.Base, query string, most int) (knowledge.Found, error) {
	return knowledge.NewLibrary(k.client.bus.Documents()).Search(ctx, bases, query, most)
}

// Add stores a document for a session, see Documents.Add.
func (k Knowledge) Add(ctx context.Context, session, name string, r io.ReadSeeker) (events.Ref, error) {
	return k.Of(bases.Base{Scope: bases.Session, Name: session}).Add(ctx, name, r)
}

// List lists the documents of a session, sorted by name. Errors: those of the bus.
func (k Knowledge) List(ctx context.Context, session string) ([]events.Ref, error) {
	return k.Of(bases.Base{Scope: bases.Session, Name: session}).List(ctx)
}

// Remove removes a document of a session, see Documents.Remove.
func (k Knowledge) Remove(ctx context.Context, session, id string) error {
	return k.Of(bases.Base{Scope: bases.Session, Name: session}).Remove(ctx, id)
}

// Documents manages the documents of one base.
type Documents struct {
	client *Client
	base   bases.Base
}

// Add stores a document of at most bus.MaxDocument bytes until it is removed. Agents are given passages of it, and find it with their
// tools. The same bytes are stored once, under their first name. Errors: bus.ErrTooLarge, bus.ErrRefused, the reader's, and those of
// the bus.
func (d Documents) Add(ctx context.Context, name string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := d.client.bus.Documents().Put(ctx, d.base, events.Ref{Name: name, MediaType: mediaType(name)}, r)
	if err != nil {
		return events.Ref{}, fmt.Errorf("add %s: %w", name, err)
	}
	return ref, nil
}

// List lists the documents, sorted by name. Errors: those of the bus.
func (d Documents) List(ctx context.Context) ([]events.Ref, error) {
	return d.client.bus.Documents().List(ctx, d.base)
}

// leastID is the shortest prefix of a digest that identifies a document.
const leastID = 8

// Remove removes the document whose digest begins with id. Errors: ErrNotFound if none or several match; those of the bus.
func (d Documents) Remove(ctx context.Context, id string) error {
	list, err := d.List(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, ref := range list {
		if len(id) >= leastID && strings.HasPrefix(ref.Digest, id) {
			found = append(found, ref.Digest)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("%w: %w", bus.ErrNotFound, &events.Fault{
			Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("%d documents of the %s have an id like %.80q", len(found), d.base.Scope, id),
			Hint: d.hint(),
		})
	}
	return d.client.bus.Documents().Delete(ctx, d.base, found[0])
}

// hint returns the command that lists the documents.
func (d Documents) hint() string {
	if d.base.Scope == bases.Session {
		return "jobgraph sessions knowledge list " + d.base.Name
	}
	return fmt.Sprintf("jobgraph knowledge list --%s %s", d.base.Scope, d.base.Name)
}

// RemoveAll removes all documents, and the name of a global base. Errors: those of the bus.
func (d Documents) RemoveAll(ctx context.Context) error {
	return d.client.bus.Documents().DeleteAll(ctx, d.base)
}

// Readable reports whether a document is text that agents can search and read. The reader is rewound.
func Readable(r io.ReadSeeker) (bool, error) {
	data, err := io.ReadAll(io.LimitReader(r, bus.MaxDocument+1))
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return false, err
	}
	_, _, unreadable := knowledge.Decode(bytes.TrimSpace(data))
	return unreadable == nil, nil
}
