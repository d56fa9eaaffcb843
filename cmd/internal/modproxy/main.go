package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: modproxy REPOSITORY VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

// write adds every module of the repository that has a tag of that version.
func write(repository, version, folder string) error {
	tags, err := git(repository, "tag", "--list", "*/"+version)
	if err != nil {
		return err
	}
	dirs := strings.Fields(tags)
	if len(dirs) == 0 {
		return fmt.Errorf("%s has no tag */%s: make release VERSION=%s", repository, version, version)
	}
	for _, tag := range dirs {
		if err := one(repository, tag, strings.TrimSuffix(tag, "/"+version), version, folder); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
	}
	return nil
}

// one writes the files of one module version, as the protocol of module proxies requires.
func one(repository, tag, dir, version, folder string) error {
	text, err := git(repository, "show", tag+":"+dir+"/go.mod")
	if err != nil {
		return err
	}
	name := modfile.ModulePath([]byte(text))
	escaped, err := module.EscapePath(name)
	if err != nil {
		return fmt.Errorf("%s/go.mod: %w", dir, err)
	}
	at := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	when, err := git(repository, "log", "-1", "--format=%cI", tag)
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": strings.TrimSpace(when)})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(filepath.Join(at, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(at, version+".mod"), []byte(text), 0o644),
		packed(filepath.Join(at, version+".zip"), func(w io.Writer) error {
			return zip.CreateFromVCS(w, module.Version{Path: name, Version: version}, repository, tag, path.Clean(dir))
		}),
	)
}

func packed(name string, fill func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

func git(repository string, args ...string) (string, error) {
	c := exec.CommandContext(context.Background(), "git", append([]string{"-C", repository}, args...)...)
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
