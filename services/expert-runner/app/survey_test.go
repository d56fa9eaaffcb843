package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// surveyed examines jobgraph.yaml and experts/ of a folder, as far as they exist.
func surveyed(t *testing.T, dir string) *Survey {
	t.Helper()
	config, experts := filepath.Join(dir, "jobgraph.yaml"), []string{filepath.Join(dir, "experts")}
	if _, err := os.Stat(config); err != nil {
		config = ""
	}
	if _, err := os.Stat(experts[0]); err != nil {
		experts = nil
	}
	return musttest.Get(Examine(dir, config, experts, func(name string) (string, bool) { return "value-of-" + name, name != "UNSET" }))(t)
}

func TestASurveyNamesEverythingThatFilesWouldRunReachReadOrGive(t *testing.T) {
	files := map[string]string{
		"jobgraph.yaml": "version: 1\nmodels: {m: {model: x, base_url: 'http://evil.test/v1', key: '${KEY}'}}\n" +
			"mcpServers: {fs: {command: npx, args: [-y, 'a b'], env: {TOKEN: '${TOKEN:-none}'}}, far: {url: 'https://mcp.evil.test'}, near: {command: sh, workspace: true, network: true, read: [/etc]}}\n" +
			"experts: [{name: In, kind: http, url: 'https://http.evil.test/x'}]\n",
		"experts/a.md": "---\nname: A\nkind: command\ncommand: [./tool.sh, --all]\nnetwork: true\nsandbox: none\nwrite: [/home]\n---\n",
		"experts/b.md": "---\nname: B\nkind: llm\nmodel: m\ntools: [read_file, run, fetch, fs__*]\nrun: {network: true}\nallow_addresses: [10.0.0.0/8]\nreconcile: {command: [./look]}\n---\nWork.\n",
		"experts/c.md": "---\nname: C\nkind: a2a\na2a: {card: c.json}\nreconcile: {url: 'https://hook.evil.test'}\n---\n",
		"experts/c.json": `{"name":"C","protocolVersion":"0.3.0","url":"https://agent.evil.test/a2a","version":"1","description":"d","capabilities":{},` +
			`"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`,
		"experts/d.md":  "---\nname: D\nkind: llm\nmodel: m\nprompt: '${file:d.txt}'\n---\n",
		"experts/d.txt": "text\n",
	}
	dir := musttest.Files(t, t.TempDir(), files)
	s := surveyed(t, dir)
	var got []string
	for _, u := range s.Uses {
		got = append(got, u.Place+" "+u.Does+" "+strings.ReplaceAll(u.What, dir, "."))
	}
	want := []string{
		"experts/a.md: command run ./tool.sh --all, sandbox none, with network, writing /home",
		"experts/b.md: allow_addresses reach 10.0.0.0/8",
		"experts/b.md: reconcile.command run ./look",
		"experts/b.md: tools give B the tools fetch, fs__*, run, with network",
		"experts/c.md: a2a.card reach https://agent.evil.test/a2a",
		"experts/c.md: a2a.card reach the agent of ./experts/c.json",
		"experts/c.md: reconcile.url reach https://hook.evil.test",
		"experts/d.md read the file ./experts/d.txt",
		"jobgraph.yaml read the variable KEY",
		"jobgraph.yaml read the variable TOKEN",
		"jobgraph.yaml: experts[0].url reach https://http.evil.test/x",
		"jobgraph.yaml: mcpServers.far reach https://mcp.evil.test",
		`jobgraph.yaml: mcpServers.fs start npx -y "a b", with TOKEN`,
		"jobgraph.yaml: mcpServers.near start sh, in the sandbox of a run, with network, reading /etc",
		"jobgraph.yaml: models.m.base_url reach http://evil.test/v1, as model m",
	}
	musttest.Equal(t, want, got)
	musttest.Equal(t, []string{"KEY", "TOKEN"}, s.Variables)
	if len(s.Files) != 1 || s.Cards != 5 {
		t.Error(s.Files, s.Cards)
	}
	for name := range files { // Each file is part of what a person trusts.
		changed := musttest.Files(t, t.TempDir(), files)
		if surveyed(t, changed).Digest != s.Digest {
			t.Fatal("the digest depends on the folder")
		}
		path := filepath.Join(changed, name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if surveyed(t, changed).Digest == s.Digest {
			t.Errorf("a change of %s is not seen", name)
		}
	}
}

func TestTextsAloneNeedNoTrust(t *testing.T) {
	s := surveyed(t, musttest.Files(t, t.TempDir(), map[string]string{
		"jobgraph.yaml": "version: 1\nmodels: {default: {model: small, temperature: 1}}\npolicies: [{tool: '*', action: ask}]\n",
		"experts/w.md":  "---\nname: W\nkind: llm\ntools: [read_file, write_file, edit, find, ask_person, remember, search_knowledge]\n---\nWrite $${HOME}.\n",
		"experts/h.md":  "---\nname: H\nkind: human\n---\nAsk.\n",
	}))
	if len(s.Uses) != 0 || s.Digest != "" || s.Cards != 2 {
		t.Errorf("%+v", s)
	}
}

// A tool that is added to the runner needs trust until a reviewed list says that it stays within a job.
func TestATextCardThatGainsAToolNeedsTrust(t *testing.T) {
	for _, tool := range []string{"run", "fetch", "search_web", "fs__read"} {
		s := surveyed(t, musttest.Files(t, t.TempDir(), map[string]string{"experts/w.md": "---\nname: W\nkind: llm\ntools: [" + tool + "]\n---\nWrite.\n"}))
		if len(s.Uses) != 1 || s.Uses[0].Does != "give" || s.Digest == "" {
			t.Errorf("%s: %+v", tool, s)
		}
	}
	steps := surveyed(t, musttest.Files(t, t.TempDir(), map[string]string{"experts/w.md": "---\nname: W\nkind: llm\ntools: [find]\nworkflow: [{instruction: go, tools: [find], actions: [buy]}]\n---\nWrite.\n"}))
	if !slices.ContainsFunc(steps.Uses, func(u Use) bool { return strings.Contains(u.What, "those of action buy") }) {
		t.Errorf("%+v", steps.Uses)
	}
}
