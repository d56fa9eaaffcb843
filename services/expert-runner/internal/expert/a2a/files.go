package a2a

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// maxFiles limits the files in one message, in bytes in total.
const maxFiles = 8 << 20

// files returns the files of the work: attachments, results that are not JSON, and artifacts. The data of the message lists
// all of them by name and digest; those that do not fit are only listed. They are read only when a message is really sent.
func (r *run) files(ctx context.Context) ([]part, error) {
	w := r.task.Work
	type file struct {
		name string
		ref  events.Ref
	}
	var list []file
	for i, ref := range w.Attachments {
		list = append(list, file{"attachment-" + strconv.Itoa(i+1), ref})
	}
	for _, id := range slices.Sorted(maps.Keys(w.Results)) {
		if result := w.Results[id]; result.Output == nil && result.OutputRef != nil {
			list = append(list, file{id, *result.OutputRef})
		}
		for _, ref := range w.Results[id].Artifacts {
			list = append(list, file{id, ref})
		}
	}
	var parts []part
	room := int64(maxFiles)
	for _, f := range list {
		if f.ref.Size > room {
			continue
		}
		content := bounded{room: f.ref.Size}
		if err := r.task.Payload(ctx, f.ref, &content); err != nil {
			return nil, err
		}
		room -= f.ref.Size
		p := part{Bytes: content.buffer.Bytes(), Name: f.ref.Name, Type: f.ref.MediaType}
		if p.Name == "" {
			p.Name = f.name
		}
		if p.Type == "" {
			p.Type = "application/octet-stream"
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// bounded accepts as many bytes as a file claims to have.
type bounded struct {
	buffer bytes.Buffer
	room   int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(b.buffer.Len()+len(p)) > b.room {
		return 0, &events.Fault{Code: events.CodeTooLarge, Message: fmt.Sprintf("a file is larger than the %d bytes that it says", b.room), Hint: "hand it over again"}
	}
	return b.buffer.Write(p)
}
