package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// attachable reports all faults of files to attach, before anything is stored.
func attachable(paths []string) (faults events.Faults) {
	for i, path := range paths {
		f := events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("--attach[%d]", i)}
		switch info, err := os.Stat(path); {
		case err != nil:
			f.Message, f.Cause, f.Hint = path+" cannot be read", err.Error(), "check the path and its permissions"
		case !info.Mode().IsRegular():
			f.Message, f.Hint = path+" is no file", "attach files one by one, or an archive of the folder"
		case info.Size() > bus.MaxBlob:
			f.Code, f.Message, f.Hint = events.CodeTooLarge, fmt.Sprintf("%s has %d bytes, at most %d are taken", path, info.Size(), int64(bus.MaxBlob)), "split it"
		default:
			continue
		}
		faults = append(faults, f)
	}
	return faults
}

// attach stores files under the job's id, generating the id if necessary, and adds them to the request.
func (q *asked) attach(ctx context.Context, c *client.Client, r *events.Request) error {
	if len(q.attached) == 0 {
		return nil
	}
	if r.ID == "" {
		id, err := client.NewID()
		if err != nil {
			return err
		}
		r.ID = id
	}
	for _, path := range q.attached {
		ref, err := attachOne(ctx, c, r.ID, path)
		if err != nil {
			return fmt.Errorf("attach %s: %w", path, err)
		}
		r.Attachments = append(r.Attachments, ref)
	}
	return nil
}

func attachOne(ctx context.Context, c *client.Client, job, path string) (events.Ref, error) {
	file, err := os.Open(path)
	if err != nil {
		return events.Ref{}, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	return c.Attach(ctx, job, filepath.Base(path), file)
}
