package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// attachable reports what is wrong with a file to attach, before anything is stored.
func attachable(field, path string) (faults events.Faults) {
	f := events.Fault{Code: events.CodeInvalid, Field: field}
	switch info, err := os.Stat(path); {
	case err != nil:
		f.Message, f.Cause, f.Hint = path+" cannot be read", err.Error(), "check the path and its permissions"
	case !info.Mode().IsRegular():
		f.Message, f.Hint = path+" is no file", "attach files and folders"
	case info.Size() > bus.MaxBlob:
		f.Code, f.Message, f.Hint = events.CodeTooLarge, fmt.Sprintf("%s has %d bytes, at most %d are taken", path, info.Size(), int64(bus.MaxBlob)), "split it"
	default:
		return nil
	}
	return events.Faults{f}
}

// maxAttached limits the files that are attached from folders, since every work message of the job names each of them.
const maxAttached = 200

// attachment is a file to attach, and its name in the job.
type attachment struct{ path, name string }

// unfolded returns files, and the files in folders, in order. A file in a folder is named by its path, beginning with the folder's
// name. Hidden folders, links and anything but regular files are left out of folders.
func unfolded(paths []string) (files []attachment, faults events.Faults) {
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			files = append(files, attachment{path, filepath.Base(path)})
			faults = append(faults, attachable(fmt.Sprintf("--attach[%d]", i), path)...)
			continue
		}
		inside, err := within(path)
		files = append(files, inside...)
		for _, file := range inside {
			faults = append(faults, attachable(fmt.Sprintf("--attach[%d]", i), file.path)...)
		}
		switch {
		case err != nil:
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: fmt.Sprintf("--attach[%d]", i), Message: path + " cannot be read", Cause: err.Error(), Hint: "check its permissions",
			})
		case len(inside) == 0:
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: fmt.Sprintf("--attach[%d]", i), Message: path + " has no file", Hint: "name a folder with files in it",
			})
		}
	}
	if len(files) > maxAttached {
		faults = append(faults, events.Fault{
			Code: events.CodeTooLarge, Field: "--attach", Message: fmt.Sprintf("%d files, at most %d are taken", len(files), maxAttached), Hint: "attach an archive of the folder",
		})
	}
	return files, faults
}

// within returns the files in a folder, up to a limit.
func within(dir string) (files []attachment, err error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		case len(files) > maxAttached:
			return fs.SkipAll
		}
		place, err := filepath.Rel(dir, path)
		files = append(files, attachment{path, filepath.ToSlash(filepath.Join(filepath.Base(full), place))})
		return err
	})
	return files, err
}

// name gives a request without an id one of its own.
func (q *asked) name(r *events.Request) (err error) {
	if r.ID == "" {
		q.own, err = client.NewOwnID()
		r.ID = q.own.String()
	}
	return err
}

// attach stores files under the job's id, generating the id if necessary, and adds them to the request.
func (q *asked) attach(ctx context.Context, c *client.Client, r *events.Request) error {
	if len(q.attached) == 0 {
		return nil
	}
	if err := q.name(r); err != nil {
		return err
	}
	files, faults := unfolded(q.attached)
	if err := faults.OrNil(); err != nil {
		return err
	}
	for _, file := range files {
		ref, err := attachOne(ctx, c, r.ID, file)
		if err != nil {
			return fmt.Errorf("attach %s: %w", file.path, err)
		}
		r.Attachments = append(r.Attachments, ref)
	}
	return nil
}

func attachOne(ctx context.Context, c *client.Client, job string, a attachment) (events.Ref, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return events.Ref{}, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	return c.Attach(ctx, job, a.name, file)
}
