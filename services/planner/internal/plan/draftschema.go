package plan

import (
	"encoding/json"
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
		root = closed(node{"title": text(), "steps": list(text(), maxSteps)})
	case Chat2Graph:
		root, strict = node{"type": "object", "minProperties": 1, "additionalProperties": closed(node{
			"goal": text(), "context": text(), "completion_criteria": text(), "dependencies": list(text(), 0),
			"assigned_expert": oneOf(experts(cards)), "thinking": text(),
		})}, false
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
		"subjobs": list(closed(node{
			"id": text(), "title": text(), "goal": text(), "context": text(), "completion_criteria": text(),
			"dependencies": list(text(), 0), "expert": oneOf(names), "thinking": text(), "schedule": maybe(scheduleSchema()),
		}), maxSteps),
	})
}

func researchSchema(maxSteps int) node {
	return closed(node{
		"locale": text(), "has_enough_context": truth(), "thought": text(), "title": text(),
		"steps": list(closed(node{
			"need_web_search": truth(), "title": text(), "description": text(), "step_type": oneOf([]string{"research", "processing", "analysis"}),
		}), maxSteps),
	})
}

func taskSchema(names []string, maxSteps int) node {
	return closed(node{
		"tasks": list(closed(node{
			"title": text(), "query": text(), "agent_name": oneOf(names), "pattern": oneOf([]string{"once", "recurring"}), "schedule_config": maybe(scheduleSchema()),
		}), maxSteps),
		"adequate": truth(), "reason": text(), "guidance_message": maybe(text()),
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

// list is an array with a length limit, if one is given.
func list(item node, most int) node {
	n := node{"type": "array", "items": item}
	if most > 0 {
		n["maxItems"] = most
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
