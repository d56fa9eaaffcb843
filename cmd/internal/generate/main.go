package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write makes every generated file below the root of the repository.
func write(root string) error {
	codes, err := codeTable(filepath.Join(root, "pkg", "events", "fault.go"), "Code")
	if err != nil {
		return err
	}
	exits, err := codeTable(filepath.Join(root, "cmd", "jobgraph", "internal", "cli", "exit.go"), "Exit")
	if err != nil {
		return err
	}
	conformance, err := conformancePage(root)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"docs/states.md": statePage(), "docs/events.md": eventPage(), "docs/errors.md": errorPage(codes, exits), "docs/conformance.md": conformance, "docs/verbs.md": verbPage(),
	}
	if err := addSchemas(files); err != nil {
		return err
	}
	if files["docs/jobgraph.schema.json"], err = configSchema(root); err != nil {
		return err
	}
	worker, err := os.ReadFile(filepath.Join(root, "examples", "workers", "worker.py")) // A template cannot embed a file of another module.
	if err != nil {
		return err
	}
	files["cmd/jobgraph/internal/scaffold/template/worker-python/worker.py"] = worker
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
