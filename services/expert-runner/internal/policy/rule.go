package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Action is what happens to a call.
type Action string

// The actions, from the mildest to the strictest.
const (
	Allow Action = "allow" // The call is made.
	Ask   Action = "ask"   // The call is made if a person approves.
	Deny  Action = "deny"  // The call is not made.
)

// strictness orders the actions; an unknown one is the strictest.
func (a Action) strictness() int {
	switch a {
	case Allow, "":
		return 0
	case Ask:
		return 1
	}
	return 2
}

// Refuses reports whether a call is refused regardless of approval.
func (a Action) Refuses() bool { return a.strictness() == Deny.strictness() }

// Rule is one line of a policy.
type Rule struct {
	// Action is what happens to a matching call: allow, ask or deny.
	Action Action `yaml:"action"`
	// Expert is a pattern of the expert's id; any expert when empty. In patterns * is any text and ? any one character.
	Expert string `yaml:"expert"`
	// Tool is a case-sensitive pattern of the tool's name; any tool if empty.
	Tool string `yaml:"tool"`
	// Args are patterns of arguments by their dotted names; all must match. A pattern such as >100, >=, < or <= compares numbers.
	Args map[string]string `yaml:"args"`
	// Reason is shown to the person who is asked, and to the model if the call is refused.
	Reason string `yaml:"reason"`
	// User is the only person who may approve; empty means the user of the job.
	User string `yaml:"user"`
	// Expires is how long to wait for a person; then the call is refused. 0 means no limit.
	Expires time.Duration `yaml:"expires"`
}

// Rules are checked in order: the first match decides. A call that matches none is allowed.
type Rules []Rule

// Faults are everything that makes rules unusable; field is the path of the list.
func (list Rules) Faults(field string) events.Faults {
	var faults events.Faults
	for i := range list {
		r := &list[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		fault := func(key, message, hint string) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: at + "." + key, Message: message, Hint: hint})
		}
		switch r.Action {
		case Allow, Ask, Deny:
		case "":
			fault("action", "the rule does not say what becomes of a call", "use allow, ask or deny")
		default:
			fault("action", fmt.Sprintf("unknown action %q", r.Action), "use allow, ask or deny")
		}
		if r.Action != Ask && (r.User != "" || r.Expires != 0) {
			fault("user", "user and expires are for the action ask", "leave them out")
		}
		if r.Expires < 0 {
			fault("expires", "must not be negative", "")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			if slices.Contains(strings.Split(name, "."), "") {
				fault("args", fmt.Sprintf("%q names no argument", name), "use a name, or names with dots between: payment.amount")
			}
			if _, err := patternOf(r.Args[name]); err != nil {
				fault("args."+name, err.Error(), "")
			}
		}
	}
	return faults
}

// Call is a tool call as rules see it.
type Call struct {
	// Expert is the id of the calling expert, Tool the name of the tool.
	Expert, Tool string
	// Args are the arguments in the form for the tool: a JSON object.
	Args json.RawMessage
}

// Verdict is the decision about a call.
type Verdict struct {
	// Action is what happens to the call, Reason the reason of the rule.
	Action Action
	Reason string
	// User and Expires say who may approve and how long to wait, if Action is Ask.
	User    string
	Expires time.Duration
}

// Gate has every list that applies to a call: that of the configuration and that of the expert's card. The strictest verdict
// applies, so that no list can weaken another.
type Gate []Rules

// Open reports whether there are no rules.
func (g Gate) Open() bool {
	return !slices.ContainsFunc(g, func(list Rules) bool { return len(list) > 0 })
}

// Judge returns the strictest verdict of all lists about a call.
func (g Gate) Judge(c Call) Verdict {
	strictest := Verdict{Action: Allow}
	if g.Open() {
		return strictest
	}
	args := readArgs(c.Args)
	for _, list := range g {
		if v := list.judge(&c, args); v.Action.strictness() > strictest.Action.strictness() {
			strictest = v
		}
	}
	return strictest
}

func (list Rules) judge(c *Call, args any) Verdict {
	for i := range list {
		if r := &list[i]; r.fits(c, args) {
			return Verdict{Action: r.Action, Reason: r.Reason, User: r.User, Expires: r.Expires}
		}
	}
	return Verdict{Action: Allow}
}

// fits reports whether a rule applies to a call.
func (r *Rule) fits(c *Call, args any) bool {
	if r.Expert != "" && !glob(r.Expert, c.Expert) || r.Tool != "" && !glob(r.Tool, c.Tool) {
		return false
	}
	for name, text := range r.Args { // any order: all have to fit.
		p, err := patternOf(text)
		if err != nil {
			return r.Action != Allow // Faults has reported it; an unreadable rule allows nothing.
		}
		if !r.holds(p, valuesAt(args, strings.Split(name, "."))) {
			return false
		}
	}
	return true
}

// holds reports whether the values of an argument match a pattern. For strict actions one value of a list suffices, for Allow all
// must match: a call cannot hide a forbidden value behind others.
func (r *Rule) holds(p pattern, values []any) bool {
	if r.Action != Allow {
		return slices.ContainsFunc(values, func(v any) bool { return p.fits(v, true) })
	}
	return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return !p.fits(v, false) })
}
