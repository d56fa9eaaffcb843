package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// node is a part of a JSON Schema. Maps are encoded with sorted keys, so that a schema always has the same bytes.
type node map[string]any

// DraftSchema returns the JSON Schema of a plan in a dialect, which allows only the names of existing experts; nil for an
// unknown dialect. strict reports whether it fits the strict mode of providers: every field required, no others allowed.
func DraftSchema(dialect Dialect, cards []events.Card, maxSteps int) (schema json.RawMessage, strict bool) {
	var root node
	switch strict = true; dialect {
	case Native:
		root = nativeSchema(experts(cards), maxSteps)
	case DeerGo:
		root = researchSchema(maxSteps)
	case ValueCell:
		root = taskSchema(experts(cards), maxSteps)
	case OpenManus:
		root = milestoneSchema(maxSteps)
	case Chat2Graph:
		root, strict = decompositionSchema(experts(cards)), false
	default:
		return nil, false
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, false
	}
	return raw, strict
}

// experts lists the names that plans may use for the existing experts.
func experts(cards []events.Card) []string {
	c := newCatalog(cards)
	var names []string
	for _, i := range c.plannable() {
		if card := &c.cards[i]; !card.Passthrough {
			names = append(names, firstOf(card.Name, card.ID))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func nativeSchema(names []string, maxSteps int) node {
	return closed(node{
		"title": text(), "locale": text(), "thought": text(), "has_enough_context": truth(), "adequate": truth(), "guidance_message": maybe(text()),
		"subjobs": upTo(closed(node{
			"id": text(), "title": text(), "goal": text(), "context": text(), "completion_criteria": text(),
			"dependencies": list(text()), "expert": oneOf(names), "language": maybe(text()), "thinking": text(), "schedule": maybe(scheduleSchema()),
		}), maxSteps),
	})
}

func researchSchema(maxSteps int) node {
	return closed(node{
		"locale": text(), "has_enough_context": truth(), "thought": text(), "title": text(),
		"steps": upTo(closed(node{
			"need_web_search": truth(), "title": text(), "description": text(), "step_type": oneOf([]string{"research", "processing", "analysis"}),
			"dependencies": numbers(),
		}), maxSteps),
	})
}

// milestoneSchema allows a step as a plain text, which follows the one before it, or with the steps that it needs.
func milestoneSchema(maxSteps int) node {
	step := node{"anyOf": []node{text(), closed(node{"step": text(), "dependencies": numbers()})}}
	return closed(node{"title": text(), "steps": upTo(step, maxSteps)})
}

// languageKey is the field of a Chat2Graph task with the language of its expert.
const languageKey = "language of the assigned_expert"

func decompositionSchema(names []string) node {
	fields := node{
		"goal": text(), "context": text(), "completion_criteria": text(), "dependencies": list(text()),
		"assigned_expert": oneOf(names), "thinking": text(),
	}
	task := closed(fields)
	fields[languageKey] = text() // Allowed, but not required.
	return node{"type": "object", "minProperties": 1, "additionalProperties": task}
}

func taskSchema(names []string, maxSteps int) node {
	return closed(node{
		"tasks": upTo(closed(node{
			"title": text(), "query": text(), "agent_name": oneOf(names), "pattern": oneOf([]string{"once", "recurring"}), "schedule_config": maybe(scheduleSchema()),
			"dependencies": numbers(),
		}), maxSteps),
		"adequate": truth(), "reason": text(), "guidance_message": maybe(text()),
		"questions": maybe(list(closed(node{"field": text(), "prompt": text()}))),
	})
}

func scheduleSchema() node {
	return closed(node{
		"interval_minutes": maybe(node{"type": "integer"}), "daily_time": maybe(text()), "cron": maybe(text()), "timezone": maybe(text()),
	})
}

func text() node  { return node{"type": "string"} }
func truth() node { return node{"type": "boolean"} }

// oneOf allows only these words, or any text if there are none.
func oneOf(words []string) node {
	if len(words) == 0 {
		return text()
	}
	return node{"type": "string", "enum": words}
}

// numbers are the steps that a step depends on, by their position in the plan, counted from 1; null leaves the order to the
// dialect.
func numbers() node { return maybe(list(node{"type": "integer"})) }

// list is an array of items.
func list(item node) node { return node{"type": "array", "items": item} }

// upTo is a list of steps. Its limit is stated as advice: a provider that enforces maxItems would cut plans short.
func upTo(item node, most int) node {
	n := list(item)
	if most > 0 {
		n["description"] = fmt.Sprintf("at most %d: join what belongs together", most)
	}
	return n
}

// maybe also allows null.
func maybe(n node) node { return node{"anyOf": []node{n, {"type": "null"}}} }

// closed is an object with exactly these fields.
func closed(fields node) node {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return node{"type": "object", "properties": fields, "required": names, "additionalProperties": false}
}
