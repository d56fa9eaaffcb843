package step

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/scan"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

// Survey makes the inventory of the folder that input "path" names. The folder that input "out" names is left out of
// it, since it holds the results of earlier runs.
func Survey(ctx context.Context, t task.Task) (any, error) {
	root, dir, err := t.OpenFolder("path", "")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return inventory(ctx, t, root, dir)
}

func inventory(ctx context.Context, t task.Task, root *os.Root, dir string) (scan.Inventory, error) {
	out, err := t.Text("out")
	if err != nil {
		return scan.Inventory{}, err
	}
	found, err := scan.Survey(ctx, root.FS(), dir, within(dir, out), scan.DefaultLimits())
	switch {
	case errors.Is(err, scan.ErrNothing):
		return scan.Inventory{}, task.Bad("%s holds %d files and none that is source or text%s: give another folder, --input path=/some/folder",
			dir, found.Files, reasons(found.LeftOut))
	case errors.Is(err, os.ErrPermission):
		return scan.Inventory{}, task.Bad("folder %s may not be read by this user: change its permissions or give another one", dir)
	}
	return found, err
}

// within returns out relative to dir with slashes, or nothing when it lies elsewhere.
func within(dir, out string) string {
	if out == "" || !filepath.IsAbs(out) {
		return ""
	}
	rel, err := filepath.Rel(dir, out)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(rel)
}

func reasons(list []scan.Reason) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, r.Reason+": "+r.Example)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
