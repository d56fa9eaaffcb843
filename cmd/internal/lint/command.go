package lint

import (
	"path"
	"regexp"
	"strings"
)

var (
	makeRule = regexp.MustCompile(`^([a-z][a-z0-9-]*):(?:[^=]|$)`)
	// In prose a command is in backquotes, in a code block at the start of a line.
	makeProse  = regexp.MustCompile("`make ((?:[A-Z_]+=\\S+ )*)([a-z][a-z0-9-]*)")
	makeBlock  = regexp.MustCompile(`(?:^|&&|;)\s*(?:\$ )?make ((?:[A-Z_]+=\S+ )*)([a-z][a-z0-9-]*)`)
	scriptCall = regexp.MustCompile(`(?:^|[\s"` + "`" + `])(?:\./)?(scripts/[\w-]+\.\w+|\.ci/[\w-]+)`)
)

// wantedTargets are the Makefile targets that users and other documents rely on.
var wantedTargets = []string{
	"help", "build", "test", "test-full", "race", "fuzz", "bench", "lint", "fmt", "tidy", "gen", "verify",
	"up", "run", "images", "e2e", "e2e-compose", "sweep",
}

// Commands finds commands in the documents and the Makefile that do not exist: make targets and scripts. It also requires a
// help text for each target, since `make help` prints nothing else.
func Commands(t *Tree) []Finding {
	targets, scripts := map[string]bool{}, map[string]bool{}
	var found []Finding
	for _, file := range t.Text {
		scripts[file.Path] = true
		if file.Path != "Makefile" {
			continue
		}
		for n, line := range strings.Split(string(file.Source), "\n") {
			rule := makeRule.FindStringSubmatch(line)
			if rule == nil {
				continue
			}
			targets[rule[1]] = true
			if !strings.Contains(line, "## ") {
				found = append(found, Finding{file.Path, n + 1, "target " + rule[1] + " has no ## help"})
			}
		}
	}
	for _, name := range wantedTargets {
		if !targets[name] {
			found = append(found, Finding{"Makefile", 0, "target " + name + " is missing"})
		}
	}
	for _, file := range t.Text {
		if path.Ext(file.Path) == ".md" || file.Path == "Makefile" || file.Path == ".ci/run" {
			found = append(found, unknownCommands(file, targets, scripts)...)
		}
	}
	return sorted(found)
}

func unknownCommands(file *TextFile, targets, scripts map[string]bool) []Finding {
	var found []Finding
	block := false
	for n, line := range strings.Split(string(file.Source), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
		}
		form := makeProse
		if block {
			form = makeBlock
		}
		for _, call := range form.FindAllStringSubmatch(line, -1) {
			if name := call[2]; !targets[name] {
				found = append(found, Finding{file.Path, n + 1, "make " + name + ": no such target in the Makefile"})
			}
		}
		for _, call := range scriptCall.FindAllStringSubmatch(line, -1) {
			if !scripts[call[1]] {
				found = append(found, Finding{file.Path, n + 1, call[1] + ": no such file"})
			}
		}
	}
	return found
}
