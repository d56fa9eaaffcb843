package step

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/jobgraph/jobgraph/examples/internal/extract"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

// Extract returns the step that reads the files of a predecessor's inventory, those of the given kind (scan.Code,
// scan.Text, empty for both). Without an inventory among the results it makes its own from input "path".
func Extract(kind string) func(context.Context, task.Task) (any, error) {
	return func(ctx context.Context, t task.Task) (any, error) {
		found, root, err := surveyed(ctx, t)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return read(ctx, root.FS(), found, kind)
	}
}

func read(ctx context.Context, fsys fs.FS, found scan.Inventory, kind string) (any, error) {
	result, err := extract.Extract(ctx, fsys, found.Chosen, kind, extract.DefaultLimits())
	switch {
	case errors.Is(err, extract.ErrNothing):
		return nil, task.Bad("the inventory of %s lists no %s file: choose some, or leave this step out when there is none", found.Root, kind)
	case err == nil && result.FilesRead == 0:
		return nil, task.Bad("none of the %d files chosen in %s could be read, first %s: choose files that exist",
			len(found.Chosen), found.Root, result.Faults[0].File+": "+result.Faults[0].Message)
	case err != nil:
		return nil, err
	}
	return result, nil
}

// surveyed returns the inventory to work on and its opened folder.
func surveyed(ctx context.Context, t task.Task) (scan.Inventory, *os.Root, error) {
	for found, err := range task.Outputs[scan.Inventory](t, "chosen") {
		if err != nil {
			return scan.Inventory{}, nil, err
		}
		root, err := os.OpenRoot(found.Root)
		if err != nil {
			return scan.Inventory{}, nil, task.Bad("the surveyed folder cannot be opened (%v): survey it again", err)
		}
		return found, root, nil
	}
	root, dir, err := t.OpenFolder("path", "")
	if err != nil {
		return scan.Inventory{}, nil, err
	}
	found, err := inventory(ctx, t, root, dir)
	if err != nil {
		_ = root.Close() // It was only read.
		return scan.Inventory{}, nil, err
	}
	return found, root, nil
}
