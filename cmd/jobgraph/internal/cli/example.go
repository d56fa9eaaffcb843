package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples returns the examples in the help of commands, by the command's path below the program. A test parses each of
// them as a command line.
func examples() map[string]string {
	return map[string]string{
		"":                          "jobgraph demo\njobgraph run --model fake 'Plan a birthday party'",
		"up":                        "jobgraph up\njobgraph up --ephemeral --model fake --experts experts/",
		"run":                       "jobgraph run --model fake 'Plan a birthday party'\njobgraph run -f job.yaml -o json\njobgraph run --expert Reviewer --input path=./main.go 'Review it'\njobgraph run --no-web 'Summarise the notes'",
		"chat":                      "jobgraph chat --model fake\njobgraph chat --session peru --store ./store",
		"knowledge":                 "jobgraph knowledge list\njobgraph knowledge add --base handbook handbook.md",
		"knowledge list":            "jobgraph knowledge list\njobgraph knowledge list --user ann",
		"knowledge add":             "jobgraph knowledge add --base handbook terms.md prices.csv\njobgraph knowledge add --user ann terms.md",
		"knowledge remove":          "jobgraph knowledge remove --base handbook 96fb1c7f068c\njobgraph knowledge remove --user ann --all",
		"knowledge search":          "jobgraph knowledge search --base handbook --user ann 'refunds'",
		"memory":                    "jobgraph memory list\njobgraph memory show --user ann --expert clerk",
		"memory list":               "jobgraph memory list\njobgraph memory list --user ann",
		"memory show":               "jobgraph memory show --user ann --expert clerk",
		"memory edit":               "jobgraph memory edit 7f068c 'Ann wants cash' --user ann --expert clerk",
		"memory forget":             "jobgraph memory forget 7f068c --user ann --expert clerk\njobgraph memory forget --user ann --all",
		"memory off":                "jobgraph memory off --user ann",
		"memory on":                 "jobgraph memory on --user ann",
		"users":                     "jobgraph users show ann",
		"submit":                    "jobgraph submit --plan plan.yaml --id nightly-7 -l team=a\njobgraph submit --expert Reviewer --schedule 'daily 09:00' 'Review'",
		"demo":                      "jobgraph demo",
		"demo crash":                "jobgraph demo crash",
		"new":                       "jobgraph new minutes\njobgraph new counter --template worker-go",
		"get":                       "jobgraph get last\njobgraph get 01a20b57 -o plan",
		"describe":                  "jobgraph describe last\njobgraph describe last/review -o json\njobgraph describe last --prompts",
		"list":                      "jobgraph list --state RUNNING,WAITING --limit 20\njobgraph list -l team=a -o wide",
		"watch":                     "jobgraph watch last\njobgraph watch last --live",
		"tail":                      "jobgraph tail last\njobgraph tail last/review -o jsonl --from-seq 4711",
		"logs":                      "jobgraph logs last/review\njobgraph logs last/review --run 2",
		"events":                    "jobgraph events last --follow\njobgraph events last --transitions",
		"graph":                     "jobgraph graph last\njobgraph graph -f plan.yaml -o svg",
		"why":                       "jobgraph why last\njobgraph why last/review",
		"replay":                    "jobgraph replay last --diff\njobgraph replay job.jsonl.gz --step",
		"artifacts list":            "jobgraph artifacts list last\njobgraph artifacts list last/review",
		"artifacts get":             "jobgraph artifacts get last review/report.md\njobgraph artifacts get last review/report.md -f -",
		"experts check":             "jobgraph experts check experts/ jobgraph.yaml",
		"experts copy":              "jobgraph experts copy coder\njobgraph experts copy 'Design Expert' --dir cards --force",
		"experts describe":          "jobgraph experts describe Reviewer",
		"experts list":              "jobgraph experts list -o wide",
		"experts register":          "jobgraph experts register worker.md --ttl 24h",
		"experts test":              "jobgraph experts test Reviewer --goal 'Review main.go'\njobgraph experts test Worker --level full",
		"experts withdraw":          "jobgraph experts withdraw Worker",
		"plan check":                "jobgraph plan check plan.yaml --experts experts/",
		"plan create":               "jobgraph plan create trip --title 'A trip' --step '[FIND] look' --step go",
		"plan delete":               "jobgraph plan delete trip",
		"plan diff":                 "jobgraph plan diff before.yaml after.yaml",
		"plan draft":                "jobgraph plan draft --model fake 'Plan a birthday party' -o yaml",
		"plan get":                  "jobgraph plan get trip\njobgraph plan get last",
		"plan list":                 "jobgraph plan list",
		"plan mark":                 "jobgraph plan mark trip 2 completed --notes 'found one'",
		"plan set-active":           "jobgraph plan set-active trip",
		"plan template":             "jobgraph plan template native -o yaml",
		"plan update":               "jobgraph plan update trip --step look --step ask --step go",
		"budgets":                   "jobgraph budgets\njobgraph budgets --session support-7",
		"pools":                     "jobgraph pools\njobgraph pools --runs\njobgraph pools --runners -o json",
		"models":                    "jobgraph models -o wide",
		"users show":                "jobgraph users show ann",
		"users set":                 "jobgraph users set ann --timezone Europe/Berlin",
		"sessions list":             "jobgraph sessions list --state waiting",
		"sessions show":             "jobgraph sessions show support-7 --limit 5",
		"sessions rename":           "jobgraph sessions rename support-7 Lost parcel",
		"sessions stop":             "jobgraph sessions stop support-7",
		"sessions delete":           "jobgraph sessions delete support-7 --jobs",
		"sessions knowledge add":    "jobgraph sessions knowledge add support-7 terms.md prices.csv",
		"sessions knowledge list":   "jobgraph sessions knowledge list support-7",
		"sessions knowledge remove": "jobgraph sessions knowledge remove support-7 terms.md",
		"schedule create":           "jobgraph schedule create --daily 09:00 --expert Reviewer 'Review'\njobgraph schedule create --every 15m -f job.yaml --id quarterly",
		"schedule list":             "jobgraph schedule list",
		"schedule get":              "jobgraph schedule get quarterly -o json",
		"schedule runs":             "jobgraph schedule runs quarterly --limit 10",
		"schedule pause":            "jobgraph schedule pause quarterly --reason 'moving house'",
		"schedule resume":           "jobgraph schedule resume quarterly",
		"schedule trigger":          "jobgraph schedule trigger quarterly",
		"schedule delete":           "jobgraph schedule delete quarterly",
		"stop":                      "jobgraph stop 01a20b57\njobgraph stop 01a20b57/review --only --reason 'no longer wanted'",
		"fail":                      "jobgraph fail 01a20b57/review --reason 'its worker is gone'",
		"recover":                   "jobgraph recover last\njobgraph recover last --from review",
		"retry":                     "jobgraph retry last/review",
		"rerun":                     "jobgraph rerun last/review --edit edit.yaml",
		"delete":                    "jobgraph delete 01a20b57 --force",
		"answer":                    "jobgraph answer last 'the blue one'\njobgraph answer last review~1 -f answer.json",
		"approve":                   "jobgraph approve last\njobgraph approve last --args '{\"amount\": 10}'",
		"reject":                    "jobgraph reject last --reason 'too expensive'",
		"inputs":                    "jobgraph inputs\njobgraph inputs last",
		"inputs cancel":             "jobgraph inputs cancel last review~1",
		"export":                    "jobgraph export last -o job.jsonl.gz",
		"import":                    "jobgraph import job.jsonl.gz",
		"init":                      "jobgraph init --replicas 3\njobgraph init --secure ~/bus --host bus.example.org --runner gpu=gpu --client anna=submitter,approver\njobgraph init --secure ~/bus --rotate anna",
		"doctor":                    "jobgraph doctor --monitor http://127.0.0.1:8222",
		"fsck":                      "jobgraph fsck\njobgraph fsck --store ~/.local/share/jobgraph/store",
		"model check":               "jobgraph model check --model fake\njobgraph model check --model gpt-5-mini -o json",
		"model serve":               "jobgraph model serve --script answers.yaml --listen 127.0.0.1:8423",
		"mcp":                       "jobgraph mcp --user ann",
		"trust add":                 "jobgraph trust add\njobgraph trust add ~/project --env GITHUB_TOKEN",
		"trust show":                "jobgraph trust show ~/project",
		"trust list":                "jobgraph trust list",
		"trust remove":              "jobgraph trust remove ~/project",
		"tools":                     "jobgraph tools --config jobgraph.yaml",
		"config print":              "jobgraph config print",
		"config validate":           "jobgraph config validate jobgraph.yaml",
		"import-config":             "jobgraph import-config deer-go.yaml --to imported",
		"dlq ls":                    "jobgraph dlq ls",
		"dlq show":                  "jobgraph dlq show request:17",
		"dlq retry":                 "jobgraph dlq retry request:17",
		"bench":                     "jobgraph bench --workload chain --rounds 3",
		"version":                   "jobgraph version -o json",
		"completion bash":           "source <(jobgraph completion bash)",
		"completion zsh":            "jobgraph completion zsh > \"${fpath[1]}/_jobgraph\"",
		"completion fish":           "jobgraph completion fish > ~/.config/fish/completions/jobgraph.fish",
		"completion powershell":     "jobgraph completion powershell > jobgraph.ps1",
	}
}

// exemplify sets the examples of each command; a group shows those of its first command.
func exemplify(c *cobra.Command, path string, all map[string]string) {
	for _, child := range c.Commands() {
		exemplify(child, strings.TrimSpace(path+" "+child.Name()), all)
	}
	if text, found := all[path]; found && c.Example == "" {
		c.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	if children := c.Commands(); c.Example == "" && path != "" && len(children) > 0 {
		c.Example = children[0].Example
	}
}
