package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is the trust in one folder.
type Entry struct {
	// Folder is the absolute path, without links.
	Folder string `json:"folder"`
	// Digest is the digest of the trusted files. Other contents are not trusted.
	Digest string `json:"digest"`
	// Variables are the secret variables that the files may read, sorted.
	Variables []string `json:"variables,omitempty"`
	// Since is when the person trusted the folder.
	Since time.Time `json:"since"`
}

// Store is a file of entries that only its owner may read and write.
type Store struct{ path string }

// At returns the store in a file, which need not exist.
func At(path string) Store { return Store{path} }

// Path returns the file of the store.
func (s Store) Path() string { return s.path }

// document is the form of the file.
type document struct {
	Version int     `json:"version"`
	Folders []Entry `json:"folders"`
}

// List returns all entries, sorted by folder. A file that other users may write is an error, since any of them could have added to
// it.
func (s Store) List() ([]Entry, error) {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the trusted folders: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the trusted folders: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("read the trusted folders: others may write %s (mode %o): remove it, or make it yours alone with chmod 600", s.path, mode)
	}
	var d document
	if err := json.NewDecoder(file).Decode(&d); err != nil || d.Version != 1 {
		return nil, fmt.Errorf("read the trusted folders: %s is not readable as such: remove it and say again which folders you trust", s.path)
	}
	slices.SortFunc(d.Folders, func(a, b Entry) int { return strings.Compare(a.Folder, b.Folder) })
	return d.Folders, nil
}

// Get returns the entry of a folder; ok is false without one.
func (s Store) Get(folder string) (e Entry, ok bool, err error) {
	list, err := s.List()
	if i := slices.IndexFunc(list, func(e Entry) bool { return e.Folder == folder }); i >= 0 {
		return list[i], true, err
	}
	return Entry{}, false, err
}

// Put adds an entry and replaces an earlier one for the same folder.
func (s Store) Put(e Entry) error {
	_, err := s.change(e.Folder, &e)
	return err
}

// Remove removes the entry of a folder; found is false without one.
func (s Store) Remove(folder string) (found bool, err error) { return s.change(folder, nil) }

// change replaces the entry of a folder. The file is replaced in one step, so that a crash leaves the old one or the new one.
func (s Store) change(folder string, e *Entry) (found bool, err error) {
	list, err := s.List()
	if err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(list, func(other Entry) bool { return other.Folder == folder })
	if found = len(kept) < len(list); e != nil {
		kept = append(kept, *e)
	} else if !found {
		return false, nil
	}
	body, err := json.MarshalIndent(document{Version: 1, Folders: kept}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.path), 0o700)
	}
	if err == nil {
		err = s.replace(append(body, '\n'))
	}
	if err != nil {
		return found, fmt.Errorf("keep the trusted folders: %w", err)
	}
	return found, nil
}

func (s Store) replace(body []byte) error {
	file, err := os.CreateTemp(filepath.Dir(s.path), ".trust-*") // It is created with mode 0600.
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // The error that is returned matters more.
	}
	return err
}
