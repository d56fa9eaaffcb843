package app

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// kinds are the kinds of experts that a card may have, each with its own keys. A new kind is a file with its type, and a line here.
type kinds struct {
	Command commandKind `yaml:",inline"`
	LLM     llmKind     `yaml:",inline"`
	HTTP    httpKind    `yaml:",inline"`
	// A2A is the kind a2a: a remote agent.
	A2A   a2aKind   `yaml:"a2a"`
	Human humanKind `yaml:",inline"`
	NATS  natsKind  `yaml:",inline"`
}

// kind is a kind of expert with the settings of one card.
type kind interface {
	// about describes the kind.
	about() about
	// faults lists everything that is wrong with the keys of the kind, and with common keys that have special rules for it.
	faults(c *cardSpec) events.Faults
	// build makes the expert of a valid card. An expert without a runner is served by third-party workers. The fields of faults are
	// those of the card.
	build(c *catalog, s *Settings, f *cardFile) (*expert.Expert, events.Faults)
	// uses lists the programs, addresses and tools of a card, see Survey. The places are its keys.
	uses(f *cardFile) []Use
}

// about is what all experts of a kind have in common.
type about struct {
	// name is the value of kind: on a card.
	name string
	// workspace means that its runs have a workspace, from which they deliver artifacts.
	workspace bool
	// effects means that its runs have effects in the journal, so that a card may have a hook for unknown outcomes.
	effects bool
	// once means that a run must not be repeated after an unknown outcome unless the card allows it.
	once bool
	// calls means that its runs mostly wait for the answers of others.
	calls bool
	// remembers means that the other side keeps the conversation of a session: it receives the history only if the card asks for
	// it.
	remembers bool
	// foreign means that the work leaves our programs: session, thread and user go along only if the card shares them.
	foreign bool
}

// all returns the kinds in the order of lists for people.
func (k *kinds) all() []kind {
	fields := reflect.ValueOf(k).Elem()
	list := make([]kind, fields.NumField())
	for i := range list {
		list[i], _ = fields.Field(i).Addr().Interface().(kind) // If a field is not a kind, the first card reveals it.
	}
	return list
}

// kind returns the kind of the card, or nil if the name is unknown.
func (c *cardSpec) kind() kind {
	for _, k := range c.Kinds.all() {
		if k.about().name == c.Kind {
			return k
		}
	}
	return nil
}

// is returns the description of the card's kind.
func (c *cardSpec) is() about {
	if k := c.kind(); k != nil {
		return k.about()
	}
	return about{}
}

// kindNames returns the allowed values of kind:.
func kindNames() []string {
	var names []string
	for _, k := range new(kinds).all() {
		names = append(names, k.about().name)
	}
	return names
}

// nearKinds is the hint for a card with a missing or unknown kind.
func nearKinds(written string) string {
	if near := host.Near(written, kindNames()); written != "" && len(near) > 0 {
		return "did you mean " + near[0] + "?"
	}
	return "use one of " + strings.Join(kindNames(), ", ")
}

// misplaced returns faults for keys that have no meaning for the card's kind.
func (c *cardSpec) misplaced() events.Faults {
	var faults events.Faults
	for field, value := range reflect.ValueOf(&c.Kinds).Elem().Fields() {
		k, _ := value.Addr().Interface().(kind) // Every field is a kind, see all.
		if of, key := k.about().name, firstKey(field, value); of != c.Kind && key != "" {
			faults = append(faults, alien(key, of))
		}
	}
	if is := c.is(); c.Pure && is.once && !c.idempotent(false) {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "pure", Message: "a call that is not journaled may be made twice", Hint: "leave pure out, or say that it may be: idempotent: true",
		})
	}
	return append(faults, c.shareFaults()...)
}

// shareFaults are the faults of the card's key "share".
func (c *cardSpec) shareFaults() events.Faults {
	if len(c.Share) > 0 && !c.is().foreign {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "share", Message: "is for experts that others serve: kinds http and a2a", Hint: "leave it out: an expert of kind " + c.Kind + " gets session, thread and user anyway",
		}}
	}
	for _, name := range c.Share {
		if !slices.Contains([]string{brief.FieldSession, brief.FieldThread, brief.FieldUser}, name) {
			return events.Faults{{Code: events.CodeInvalid, Field: "share", Message: fmt.Sprintf("%.40q cannot be shared", name), Hint: "share: [session, thread, user]"}}
		}
	}
	return nil
}

// firstKey returns the first key, of those that a field stands for, that a card has set; "" if it has set none.
func firstKey(field reflect.StructField, value reflect.Value) string {
	name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	switch {
	case value.IsZero():
		return ""
	case options != "inline":
		return name
	}
	for inner, v := range value.Fields() {
		if key := firstKey(inner, v); key != "" {
			return key
		}
	}
	return ""
}

// alien is the fault of a key that belongs to another kind.
func alien(field, kind string) events.Fault {
	return events.Fault{
		Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf("the keys of kind %s are for that kind alone", kind), Hint: "leave them out, or use kind: " + kind,
	}
}

// idempotent reports whether an interrupted run may be repeated; otherwise is the default.
func (c *cardSpec) idempotent(otherwise bool) bool {
	if c.Idempotent == nil {
		return otherwise
	}
	return *c.Idempotent
}

// invalid returns an error about the value of one key as faults.
func invalid(field string, err error) events.Faults {
	return events.Faults{{Code: events.CodeInvalid, Field: field, Message: err.Error()}}
}
