package workspace

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Limits of the changes of one step.
const (
	// MaxChanged limits the bytes of changed files that are stored.
	MaxChanged = 256 << 20
	// maxTracked is how many entries of a workspace are tracked.
	maxTracked = 100_000
)

// ErrTooLarge means that the changes of a workspace are too large to store: a run that continues elsewhere has to start over.
var ErrTooLarge = errors.New("the changes of the workspace are too large to be kept")

// Tracker finds out what changed in a workspace from step to step, so that a run that continues in a new workspace gets the same
// files. Temporary files and caches are left out. It is used by one goroutine at a time.
type Tracker struct {
	dir  string
	root *os.Root
	// store stores a file under its digest.
	store func(ctx context.Context, file io.ReadSeeker) (events.Ref, error)
	seen  map[string]trace
}

// trace holds the attributes of an entry that show whether it has changed.
type trace struct {
	mode    fs.FileMode
	size    int64
	changed time.Time
	link    string
}

// Track begins with the present state of a workspace. The caller must call Close.
func Track(dir string, store func(ctx context.Context, file io.ReadSeeker) (events.Ref, error)) (*Tracker, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	t := &Tracker{dir: dir, root: root, store: store}
	if t.seen, err = t.look(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

// Close releases the workspace.
func (t *Tracker) Close() error { return t.root.Close() }

// look lists the entries of the workspace.
func (t *Tracker) look() (map[string]trace, error) {
	now := map[string]trace{}
	err := fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // No step can rely on what its owner cannot read.
		case name == ".":
			return nil
		case d.IsDir() && (name == TempDir || name == ".cache"):
			return fs.SkipDir
		case len(now) == maxTracked:
			return ErrTooLarge
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
			return nil // It is gone, or is a pipe or socket of a program that has ended.
		}
		one := trace{mode: info.Mode()}
		switch {
		case info.Mode().IsRegular():
			one.size, one.changed = info.Size(), info.ModTime()
		case !info.IsDir():
			one.link, _ = t.root.Readlink(name) // An unreadable link counts as one without a target.
		}
		now[name] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look through the workspace: %w", err)
	}
	return now, nil
}

// The names in an archive of changes: a list of what was removed, and a folder with the files.
const (
	removedName = "removed.json"
	filesFolder = "files/"
)

// Changes stores what changed since the last call and returns its reference; nil if nothing did. The error is ErrTooLarge, or that
// of the store.
func (t *Tracker) Changes(ctx context.Context) (*events.Ref, error) {
	now, err := t.look()
	if err != nil {
		return nil, err
	}
	var changed, removed []string
	total := int64(0)
	for name, one := range now { // any order: sorted below.
		if t.seen[name] != one {
			changed = append(changed, name)
			total += one.size
		}
	}
	for name := range t.seen { // any order: sorted below.
		if _, there := now[name]; !there {
			removed = append(removed, name)
		}
	}
	switch {
	case len(changed)+len(removed) == 0:
		return nil, nil
	case total > MaxChanged:
		return nil, ErrTooLarge
	}
	slices.Sort(changed)
	slices.Sort(removed)
	ref, err := t.archive(ctx, changed, removed, now)
	if err != nil {
		return nil, err
	}
	t.seen = now
	return ref, nil
}

// archive writes changed entries into a file beside the workspace and stores it.
func (t *Tracker) archive(ctx context.Context, changed, removed []string, now map[string]trace) (*events.Ref, error) {
	file, err := os.CreateTemp(filepath.Dir(t.dir), prefix+self()+"-changes-")
	if err != nil {
		return nil, fmt.Errorf("keep the workspace: %w", err)
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }() // Anything left is removed when the workspaces are swept.
	packed := gzip.NewWriter(file)
	w := tar.NewWriter(packed)
	list, err := json.Marshal(removed)
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: removedName, Mode: 0o600, Size: int64(len(list))})
	}
	if err == nil {
		_, err = w.Write(list)
	}
	for i := 0; err == nil && i < len(changed); i++ {
		err = t.add(w, changed[i], now[changed[i]])
	}
	if err = errors.Join(err, w.Close(), packed.Close()); err != nil {
		return nil, fmt.Errorf("keep the workspace: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("keep the workspace: %w", err)
	}
	ref, err := t.store(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("keep the workspace: %w", err)
	}
	ref.Name, ref.MediaType = "workspace.tar.gz", "application/gzip"
	return &ref, nil
}

// add writes one entry. A file that changes meanwhile is written in its new form.
func (t *Tracker) add(w *tar.Writer, name string, one trace) error {
	header := &tar.Header{Name: filesFolder + name, Mode: int64(one.mode.Perm()), ModTime: one.changed, Format: tar.FormatPAX}
	switch {
	case one.mode.IsDir():
		header.Typeflag = tar.TypeDir
		return w.WriteHeader(header)
	case one.mode&fs.ModeSymlink != 0:
		header.Typeflag, header.Linkname = tar.TypeSymlink, one.link
		return w.WriteHeader(header)
	}
	data, err := t.root.ReadFile(name) // At most MaxChanged bytes.
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, int64(len(data))
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Apply repeats changes that a Tracker of the same run has stored.
func (t *Tracker) Apply(archive io.Reader) error {
	packed, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("restore the workspace: %w", err)
	}
	r := tar.NewReader(packed)
	for {
		header, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			t.seen, err = t.look()
			return err
		case err != nil:
			return fmt.Errorf("restore the workspace: %w", err)
		}
		if err := t.restore(header, r); err != nil {
			return fmt.Errorf("restore %s: %w", header.Name, err)
		}
	}
}

func (t *Tracker) restore(header *tar.Header, r io.Reader) error {
	if header.Name == removedName {
		var removed []string
		if err := json.NewDecoder(r).Decode(&removed); err != nil {
			return err
		}
		for _, name := range slices.Backward(removed) { // Folders come before their contents.
			if err := t.root.RemoveAll(name); err != nil {
				return err
			}
		}
		return nil
	}
	name := path.Clean(strings.TrimPrefix(header.Name, filesFolder))
	mode := fs.FileMode(header.Mode).Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		if info, err := t.root.Lstat(name); err == nil && !info.IsDir() {
			if err := t.root.Remove(name); err != nil {
				return err
			}
		}
		return errors.Join(t.root.MkdirAll(name, 0o700), t.root.Chmod(name, mode|0o700))
	case tar.TypeSymlink:
		return errors.Join(t.root.RemoveAll(name), t.root.Symlink(header.Linkname, name))
	}
	if err := errors.Join(t.root.MkdirAll(path.Dir(name), 0o700), t.root.RemoveAll(name)); err != nil {
		return err
	}
	file, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close(), t.root.Chmod(name, mode), t.root.Chtimes(name, header.ModTime, header.ModTime))
}

// Tracked returns the names of the tracked entries, sorted.
func (t *Tracker) Tracked() []string { return slices.Sorted(maps.Keys(t.seen)) }
