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

// prefix begins the name of every workspace; the identity of its process follows.
const prefix = "jobgraph-run-"

// Make creates the fresh directory of a run. Its name contains the identity of this process, so that a later one can
// recognise it as left over. An empty parent means the system's folder for temporary files.
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

// Discard removes a workspace, including folders that the program made unreadable.
func Discard(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // If it cannot be made accessible, removing it reports that.
		}
		if err != nil && d != nil && d.IsDir() {
			return nil // It was unreadable a moment ago; RemoveAll reads it again.
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

// Receive creates a file in a folder of the workspace and returns its path. The name is kept as far as it is valid. write
// gets the file, so that the content need not fit into memory. On an error of write the file is removed and the error
// returned.
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

// ArtifactFolder returns the folder for a predecessor's artifact, according to its name.
func ArtifactFolder(subjob, name string) string {
	return filepath.Join(ArtifactsDir, subjob, filepath.Dir(filepath.Clean("/"+name)))
}

// AttachmentFolder returns the folder for an attachment, according to its name.
func AttachmentFolder(name string) string {
	return filepath.Join(AttachmentsDir, filepath.Dir(filepath.Clean("/"+name)))
}

// create opens a new file with the name, or with a number before it if the name is taken.
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
