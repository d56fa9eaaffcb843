package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// busPage documents a request and its reply for every verb on the bus.
const busPage = "../../docs/nats.md"

const busHead = `# Requests on the bus
Every [verb](verbs.md) that a service answers is a request on ` + "`jobs.api.<verb>`" + ` (NATS micro), with JSON as input and reply: any client of NATS
can send it without a Jobgraph library. A refusal has the header ` + "`Nats-Service-Error-Code`" + ` and a fault ([errors](errors.md)) as its body; a
refused ` + "`submit`" + ` lists all faults. ` + "`nats micro info jobgraph-scheduler`" + ` and ` + "`/asyncapi.json`" + ` of the gateway have the schemas.

Each request gets one answer, except ` + "`runs`" + ` and ` + "`runners`" + `, which every runner answers: ` + "`nats req --replies=0 --timeout=1s`" + ` shows all.

The examples run one after the other on one bus with experts of kinds human and command; a test runs them again and compares. What differs from
run to run, such as times, sequences and ids, is replaced by ` + "`…`" + `; long replies end there.

Runners and gateways also ask a scheduler to write, on ` + "`jobs.card.…`" + ` and ` + "`jobs.keep.…`" + `. These subjects are internal and may
change.
`

// example is a request of the page. It is sent once job, if given, has reached status, and repeated until its reply contains a
// text, since lists are views that follow the log. The page omits it if it is hidden.
type example struct {
	verb, input, job, status, until string
	hidden                          bool
}

// porter is the card of an expert whose work lasts until it is stopped.
const porter = "---\nname: Porter\nkind: command\ncommand: [sleep, '3600']\n---\n"

// counted is the plan of the examples with one step for a person.
const counted = `{"subjobs":[{"id":"count","goal":"Count the boxes in the hall","expert":"Counter"}]}`

// busExamples are the requests of the page, in an order in which each of them makes sense.
var busExamples = []example{
	{verb: "submit", input: `{"id":"boxes","goal":"How many boxes are there?","session":"hall","user":"ann","plan":` + counted + `}`},
	{verb: "submit", input: `{"id":"bad","goal":"g","gaol":1}`},
	{verb: "list", input: `{"user":"ann","limit":10}`, job: "boxes", status: "WAITING", until: `"total":1`},
	{verb: "get", input: `{"id":"boxes"}`},
	{verb: "get", input: `{"id":"none"}`},
	{verb: "why", input: `{"id":"boxes","subjob":"count"}`},
	{verb: "graph", input: `{"id":"boxes"}`},
	{verb: "inputs", input: `{"id":"boxes"}`},
	{verb: "answer", input: `{"id":"boxes","request":"count~1~form","answer":"seven","by":"ann"}`},
	{verb: "rerun", input: `{"id":"boxes","subjob":"count","edit":{"goal":"Count them again"},"by":"ann"}`, job: "boxes", status: "FINISHED"},
	{verb: "fail", input: `{"id":"boxes","reason":"the hall is locked","by":"ann"}`, job: "boxes", status: "WAITING"},
	{verb: "recover", input: `{"id":"boxes","by":"ann"}`, job: "boxes", status: "FAILED"},
	{verb: "stop", input: `{"id":"boxes","reason":"not needed","by":"ann"}`, job: "boxes", status: "WAITING"},
	{verb: "retry", input: `{"id":"boxes","subjob":"count","by":"ann"}`, job: "boxes", status: "STOPPED"},
	{verb: "sessions.list", input: `{"user":"ann"}`, job: "boxes", status: "WAITING", until: `"status":"WAITING"`},
	{verb: "sessions.show", input: `{"id":"hall","user":"ann"}`},
	{verb: "sessions.rename", input: `{"id":"hall","user":"ann","title":"The hall"}`},
	{verb: "sessions.conversation", input: `{"id":"hall","user":"ann","after":0,"limit":1}`},
	{verb: "edit", input: `{"id":"boxes","plan_version":1,"plan":` + counted + `,"by":"ann"}`},
	{verb: "sessions.stop", input: `{"id":"hall","user":"ann","reason":"closing time"}`},
	{verb: "sessions.delete", input: `{"id":"hall","user":"ann"}`, job: "boxes", status: "STOPPED"},
	{verb: "delete", input: `{"id":"boxes"}`},
	{verb: "schedule.create", input: `{"id":"nightly","schedule":{"cron":"0 3 * * *","timezone":"Europe/Rome"},"request":{"goal":"Count the boxes","expert":"Counter"},"by":"ann"}`},
	{verb: "schedule.list", input: `{}`},
	{verb: "schedule.get", input: `{"id":"nightly"}`},
	{verb: "schedule.pause", input: `{"id":"nightly","reason":"holidays","by":"ann"}`},
	{verb: "schedule.resume", input: `{"id":"nightly","by":"ann"}`},
	{verb: "schedule.trigger", input: `{"id":"nightly","by":"ann"}`},
	{verb: "schedule.get", input: `{"id":"nightly"}`, until: `"asks":[`},
	{verb: "schedule.delete", input: `{"id":"nightly","by":"ann"}`},
	{verb: "dlq.retry", input: `{"id":"request:7","by":"ann"}`},
	{verb: "users.set", input: `{"user":"ann","timezone":"Europe/Rome"}`},
	{verb: "users.get", input: `{"user":"ann"}`},
	{verb: "budgets", input: `{}`},
	{verb: "pools", input: `{}`},
	{verb: "submit", input: `{"id":"door","goal":"Keep the door","expert":"Porter"}`, hidden: true},
	{verb: "runs", input: `{"id":"door"}`, until: `"lease_until"`},
	{verb: "stop", input: `{"id":"door"}`, hidden: true},
	{verb: "runners", input: `{}`, until: `"in_hand":0`},
	{verb: "profiles", input: `{}`},
	{verb: "models", input: `{}`},
	{verb: "plan.create", input: `{"plan_id":"trip","title":"A trip","steps":["book","pack"]}`},
	{verb: "plan.list", input: `{}`},
	{verb: "plan.set_active", input: `{"plan_id":"trip"}`},
	{verb: "plan.mark_step", input: `{"step_index":0,"step_status":"completed","step_notes":"by train"}`},
	{verb: "plan.update", input: `{"plan_id":"trip","title":"A long trip"}`},
	{verb: "plan.get", input: `{"plan_id":"trip"}`},
	{verb: "plan.finish", input: `{"plan_id":"trip","step_notes":"cancelled"}`},
	{verb: "plan.delete", input: `{"plan_id":"trip"}`},
}

// different matches what differs from run to run.
var different = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"`), `"…"`},
	{regexp.MustCompile(`"([a-z_]*(seq|_ms|ended|duration|cause|at|before|readers|in_hand|waiting))":\d+`), `"$1":…`},
	{regexp.MustCompile(`"recent":\[[^]]*\]|"event_id":"[^"]*"|"(facts|turn)":\d+`), `…`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}`), `…`},
	{regexp.MustCompile(`runner-…|"version":"[^"]*"`), `…`},
	{regexp.MustCompile(`\d\d:\d\d:\d\d|\d+(\.\d+)?(ms|µs|s)\b`), `…`},
}

// described reads /asyncapi.json, and returns what fails the test unless a reply is the answer or the refusal that it describes.
func described(t *testing.T) (check func(name string, reply []byte, fault *events.Fault)) {
	t.Helper()
	components := verb.AsyncAPI("", events.NewNames(""))["components"].(map[string]any)
	payloads := map[string]any{}
	for id, m := range components["messages"].(map[string]any) { // any order: a map is made of it.
		payloads[id] = m.(map[string]any)["payload"]
	}
	s := musttest.Get(schema.Read(musttest.JSON(t, map[string]any{"components": components, "properties": payloads})))(t)
	return func(name string, reply []byte, fault *events.Fault) {
		t.Helper()
		message := "api." + name + ".reply"
		if fault != nil {
			message = "fault"
		}
		for _, misfit := range s.Misfits(musttest.JSON(t, map[string]json.RawMessage{message: reply})) {
			t.Errorf("%s\n%s", misfit, reply)
		}
	}
}

// Every request over NATS has an example in the page, with the reply that it gets.
func TestEveryRequestOnTheBusIsAnsweredAsItsPageShows(t *testing.T) {
	t.Parallel()
	b := musttest.Get(bus.Connect(t.Context(), bus.Options{URL: counting(t, porter), Name: "asking"}))(t)
	t.Cleanup(b.Close)
	ask := func(name, input string) ([]byte, *events.Fault) {
		t.Helper()
		reply, fault, err := b.Services().Request(t.Context(), b.Names().API(name), []byte(input))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return reply, fault
	}
	page, shown, check := bytes.NewBufferString(busHead), map[string]bool{}, described(t)
	for _, e := range busExamples {
		for status := ""; e.job != "" && status != e.status; {
			var state struct {
				Status string
				Owed   bool `json:"end_owed"`
			}
			text, _ := ask("get", `{"id":"`+e.job+`"}`)
			musttest.Do(t, json.Unmarshal(text, &state))
			if status = state.Status; state.Owed {
				status = ""
			}
		}
		reply, fault := ask(e.verb, e.input)
		for e.until != "" && !strings.Contains(string(reply), e.until) {
			reply, fault = ask(e.verb, e.input)
		}
		if e.hidden {
			continue
		}
		if !shown[e.verb] {
			v, _ := verb.Find(e.verb)
			fmt.Fprintf(page, "\n## %s\n%s\n", e.verb, v.About)
		}
		shown[e.verb] = true
		check(e.verb, reply, fault)
		code := ""
		if fault != nil {
			code = "Nats-Service-Error-Code: " + string(fault.Code) + "\n"
		}
		// Replace what differs between runs, and cut long replies.
		var compact bytes.Buffer
		text := string(reply)
		if json.Compact(&compact, reply) == nil {
			text = compact.String()
		}
		for _, d := range different {
			text = d.what.ReplaceAllString(text, d.with)
		}
		const most = 480
		if runes := []rune(text); len(runes) > most {
			text = string(runes[:most]) + "…"
		}
		fmt.Fprintf(page, "```\n$ nats req jobs.api.%s '%s'\n%s%s\n```\n", e.verb, e.input, code, text)
	}
	for _, v := range verb.All() {
		if v.On != "" && !shown[v.Name] {
			t.Errorf("%s has no example", v.Name)
		}
	}
	goldentest.Same(t, busPage, page.String())
}
