package workspace

import (
	"errors"
	"fmt"
	"io"
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

// Receive makes one file in a folder of the workspace and gives its path. The name is kept as far as it is one. The content need
// not fit into memory: write is given the file. What it leaves behind with an error is taken away, and the error is its own.
func Receive(dir, folder, name string, write func(w io.Writer) error) (path string, size int64, err error) {
	name = filepath.Base(filepath.Clean("/" + name))
	if name == "/" || name == "." {
		name = "payload"
	}
	folder = filepath.Join(dir, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", 0, fmt.Errorf("write payload: %w", err)
	}
	file, err := create(folder, name)
	if err != nil {
		return "", 0, fmt.Errorf("write payload: %w", err)
	}
	if err = write(file); err == nil {
		size, err = file.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), size, nil
}

// ArtifactFolder is the folder for an artifact of a predecessor, by the name it came with.
func ArtifactFolder(subjob, name string) string {
	return filepath.Join(ArtifactsDir, subjob, filepath.Dir(filepath.Clean("/"+name)))
}

// create opens a file that was not there before, under the name or one with a number in front of it.
func create(folder, name string) (*os.File, error) {
	path := filepath.Join(folder, name)
	for i := 1; ; i++ {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
		path = filepath.Join(folder, fmt.Sprintf("%d-%s", i, name))
	}
}
