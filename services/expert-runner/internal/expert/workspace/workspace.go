package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TempDir is the folder for temporary files inside a workspace.
const TempDir = ".tmp"

// prefix opens the name of every workspace, followed by who made it.
const prefix = "jobgraph-run-"

// Make makes the fresh directory of a run, named for this process, so that a later one can tell that it is left over. An
// empty parent is the system's folder for temporary files.
func Make(parent string) (string, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", fmt.Errorf("make workspace: %w", err)
		}
	}
	dir, err := os.MkdirTemp(parent, prefix+self()+"-")
	if err != nil {
		return "", fmt.Errorf("make workspace: %w", err)
	}
	if dir, err = filepath.Abs(dir); err == nil {
		err = os.Mkdir(filepath.Join(dir, TempDir), 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make workspace: %w", err)
	}
	return dir, nil
}

// Discard removes a workspace, also folders that the program made unreadable.
func Discard(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // What cannot be opened up shows when it is removed.
		}
		if err != nil && d != nil && d.IsDir() {
			return nil // It was unreadable a moment ago; the second walk of RemoveAll sees its content.
		}
		return err
	})
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return nil
}

// Place writes one file into a folder of the workspace and gives its path. The name is kept as far as it is one.
func Place(dir, folder, name string, content []byte) (string, error) {
	name = filepath.Base(filepath.Clean("/" + name))
	if name == "/" || name == "." {
		name = "payload"
	}
	folder = filepath.Join(dir, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("write payload: %w", err)
	}
	path := filepath.Join(folder, name)
	for i := 1; ; i++ {
		if _, err := os.Lstat(path); err != nil {
			break
		}
		path = filepath.Join(folder, fmt.Sprintf("%d-%s", i, name))
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("write payload: %w", err)
	}
	return path, nil
}
