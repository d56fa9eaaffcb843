package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is the workspace of a run.
type Dir struct{ root string }

// Open makes a Dir from a folder.
func Open(folder string) (Dir, error) {
	full, err := filepath.Abs(folder)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return Dir{}, fmt.Errorf("open workspace: %w", err)
	}
	return Dir{full}, nil
}

// Find returns the full path of an existing file.
func (d Dir) Find(name string) (string, error) {
	path, err := d.inside(name)
	if err != nil {
		return "", err
	}
	full, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %s: list_files or find tells what there is", name)
	case err != nil:
		return "", fmt.Errorf("open %s: %w", name, err)
	case !d.holds(full):
		return "", outside(name)
	}
	info, err := os.Stat(full)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", name)
	}
	return full, nil
}

// Place returns the full path of a file that may not exist yet, and creates its folder.
func (d Dir) Place(name string) (string, error) {
	path, err := d.inside(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", name, err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("open the folder of %s: %w", name, err)
	}
	full := filepath.Join(folder, filepath.Base(path))
	if to, err := filepath.EvalSymlinks(full); err == nil {
		full = to
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("open %s: %w", name, err)
	}
	if info, err := os.Lstat(full); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", name)
	}
	if !d.holds(full) {
		return "", outside(name)
	}
	return full, nil
}

func (d Dir) holds(full string) bool {
	return strings.HasPrefix(full, d.root+string(filepath.Separator))
}

// inside accepts paths relative to the workspace, and full paths below it.
func (d Dir) inside(name string) (string, error) {
	switch rest, below := strings.CutPrefix(name, d.root+string(filepath.Separator)); {
	case name == "":
		return "", errors.New("a path is needed")
	case below:
		name = rest
	}
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", outside(name)
	}
	return filepath.Join(d.root, name), nil
}

func outside(name string) error {
	return fmt.Errorf("%.200q is outside the workspace: use a path relative to it", name)
}
