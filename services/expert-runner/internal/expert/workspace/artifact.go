package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// OutDir is the folder of a workspace whose files are artifacts by default.
const OutDir = "out"

// ArtifactsDir is the folder of a workspace with the predecessors' artifacts, one folder for each.
const ArtifactsDir = "artifacts"

// AttachmentsDir is the folder of a workspace with the files of the job.
const AttachmentsDir = "attachments"

// Limits of the artifacts of one run.
const (
	// MaxArtifacts limits the number of files, MaxArtifactBytes their total size.
	MaxArtifacts     = 64
	MaxArtifactBytes = 1 << 30
	// maxName limits the length of a name in bytes, maxDeep the depth of folders, maxSeen the entries that are visited.
	maxName = 255
	maxDeep = 32
	maxSeen = 10_000
)

// DefaultArtifacts returns the patterns of a card without any.
func DefaultArtifacts() []string { return []string{OutDir + "/**"} }

// keep stores the files that match patterns and returns their references for the report. An error is an *events.Fault about
// a file that cannot be stored, or that of the store.
func keep(ctx context.Context, t *expert.Task, dir string, patterns []string) ([]events.Ref, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	names, err := gather(root, patterns, maxSeen)
	if err != nil {
		return nil, err
	}
	var refs []events.Ref
	total := int64(0)
	for _, name := range names {
		ref, err := keepOne(ctx, t, root, name, MaxArtifactBytes-total)
		if err != nil {
			return nil, err
		}
		total += ref.Size
		refs = append(refs, ref)
	}
	return refs, nil
}

// keepOne stores one file of limited size. A process that the program left behind may still be changing files.
func keepOne(ctx context.Context, t *expert.Task, root *os.Root, name string, most int64) (events.Ref, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // Opening a pipe in its place would block.
	if err != nil {
		return events.Ref{}, refused(events.CodeInvalid, name, "cannot be read: "+reason(err), "make it readable")
	}
	defer func() { _ = file.Close() }() // It was only read.
	info, err := file.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return events.Ref{}, refused(events.CodeInvalid, name, "is no file", "leave files alone, without links, pipes and devices")
	case info.Size() > most:
		return events.Ref{}, &events.Fault{
			Code: events.CodeTooLarge, Field: field, Message: fmt.Sprintf("the artifacts have more than %d bytes together", int64(MaxArtifactBytes)),
			Hint: "leave less, or say under artifacts on the card which files are meant",
		}
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return events.Ref{}, refused(events.CodeInvalid, name, "cannot be read: "+reason(err), "make it readable")
	}
	ref, err := t.Keep(ctx, file)
	if err != nil {
		return events.Ref{}, about(name, err)
	}
	ref.Name, ref.MediaType = called(name), mediaType(name, head[:n])
	return ref, nil
}

// called returns the name of an artifact: its path without OutDir.
func called(name string) string { return strings.TrimPrefix(name, OutDir+"/") }

// mediaType guesses by the extension of the name, else by the beginning of the file.
func mediaType(name string, head []byte) string {
	if known := cmp.Or(artifact.MediaType(name), mime.TypeByExtension(path.Ext(name))); known != "" {
		return known
	}
	return http.DetectContentType(head)
}

// field is the key of a card that faults about artifacts name.
const field = "artifacts"

func refused(code events.Code, name, what, hint string) *events.Fault {
	return &events.Fault{Code: code, Field: field, Message: fmt.Sprintf("artifact %.300q %s", name, what), Hint: hint}
}

// about adds the name of the file to an error of storing it.
func about(name string, err error) error {
	var fault *events.Fault
	if !errors.As(err, &fault) {
		return fmt.Errorf("keep artifact %q: %w", name, err)
	}
	named := *fault
	named.Field, named.Message = field, fmt.Sprintf("artifact %.300q: %s", name, fault.Message)
	return &named
}

// reason returns an error without the path of the workspace.
func reason(err error) string {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}
