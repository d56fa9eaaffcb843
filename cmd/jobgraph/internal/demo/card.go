package demo

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// cards are the cards of the demonstrations' experts, by file. WORLD_URL is the address of the world.
func cards() map[string]string {
	return map[string]string{
		"scribe.md": "---\nname: Scribe\ndescription: Notes an order in a file and reads it back\nkind: llm\ntools: [write_file, read_file]\n---\nYou keep notes in files.\n",
		"teller.md": "---\nname: Teller\ndescription: Pays an order\nkind: http\nurl: ${WORLD_URL}/pay/{inputs.order}\nreconcile: {url: \"${WORLD_URL}/did\"}\n---\n",
		"clerk.md":  "---\nname: Clerk\ndescription: Answers in words\nkind: llm\ntags: [default]\n---\nYou are brief.\n",
	}
}

// Cards writes the cards of the demonstrations into a folder.
func Cards(dir string) error {
	for name, text := range cards() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write card: %w", err)
		}
	}
	return nil
}

// Plan is the plan of the demonstrations: two parallel steps and one that depends on both.
func Plan() *events.Plan {
	return &events.Plan{Title: "An order", SubJobs: []events.SubJob{
		{ID: "note", Goal: "Note the order", Expert: "Scribe"},
		{ID: "pay", Goal: "Pay the order", Expert: "Teller"},
		{ID: "thank", Goal: "Say what was done", Expert: "Clerk", Dependencies: []string{"note", "pay"}},
	}}
}
