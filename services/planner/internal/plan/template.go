package plan

// Template returns a sample plan in a dialect, ending with a newline; ok is false for an unknown dialect. Each template
// passes Check once its experts exist.
func Template(dialect Dialect) (text string, ok bool) {
	text, ok = templates[dialect]
	return text, ok
}

// Example returns a sample plan in the form that a model is asked for: a template, with the dependencies that steps may
// name.
func Example(dialect Dialect) string {
	text, ok := examples[dialect]
	if !ok {
		text = templates[dialect]
	}
	return text
}

var examples = map[Dialect]string{
	DeerGo: `{
  "locale": "en-US",
  "has_enough_context": false,
  "thought": "What the question is about",
  "title": "What the plan is about",
  "steps": [
    {
      "need_web_search": false,
      "title": "Gather",
      "description": "Say exactly which data to find",
      "step_type": "research",
      "dependencies": []
    },
    {
      "need_web_search": false,
      "title": "Gather the rest",
      "description": "Say exactly which other data to find",
      "step_type": "research",
      "dependencies": []
    },
    {
      "need_web_search": false,
      "title": "Compute",
      "description": "Say what to compute from it",
      "step_type": "processing",
      "dependencies": [1, 2]
    }
  ]
}
`,
	OpenManus: `{
  "title": "What the plan is about",
  "steps": [
    {"step": "[DESIGN] Say what comes first", "dependencies": []},
    {"step": "[ANALYSIS] Say what can be done at the same time", "dependencies": []},
    {"step": "[ANALYSIS] Say what comes next", "dependencies": [1, 2]}
  ]
}
`,
}

var templates = map[Dialect]string{
	Native: `{
  "title": "What the plan is about",
  "subjobs": [
    {
      "id": "survey",
      "goal": "Say what the first expert has to do",
      "context": "All that he needs to know beside the results of his predecessors",
      "completion_criteria": "How to tell that it is done",
      "expert": "Design Expert"
    },
    {
      "id": "extract",
      "goal": "Say what the second expert has to do",
      "dependencies": ["survey"],
      "expert": "Extraction Expert",
      "when": "survey.files > 0",
      "retries": 2,
      "timeout": "5m"
    },
    {
      "id": "report",
      "goal": "Say what is to be made of both results",
      "dependencies": ["survey", "extract"],
      "expert": "Analysis Expert"
    }
  ]
}
`,
	Chat2Graph: `{
  "subtask_1": {
    "goal": "Say what the first expert has to do",
    "context": "All that he needs to know beside the results of his predecessors",
    "completion_criteria": "How to tell that it is done",
    "dependencies": [],
    "assigned_expert": "Design Expert",
    "thinking": "Why this comes first"
  },
  "subtask_2": {
    "goal": "Say what the second expert has to do",
    "context": "All that he needs to know beside the results of his predecessors",
    "completion_criteria": "How to tell that it is done",
    "dependencies": ["subtask_1"],
    "assigned_expert": "Extraction Expert",
    "thinking": "Why it needs the first"
  }
}
`,
	DeerGo: `{
  "locale": "en-US",
  "has_enough_context": true,
  "thought": "What the question is about",
  "title": "What the plan is about",
  "steps": [
    {
      "need_web_search": false,
      "title": "Gather",
      "description": "Say exactly which data to find",
      "step_type": "research"
    },
    {
      "need_web_search": false,
      "title": "Compute",
      "description": "Say what to compute from it",
      "step_type": "processing"
    }
  ]
}
`,
	ValueCell: `{
  "tasks": [
    {
      "title": "What the task is about",
      "query": "Say what the agent has to do",
      "agent_name": "Design Expert",
      "pattern": "once"
    },
    {
      "title": "Every morning",
      "query": "Say what the agent has to do each time",
      "agent_name": "Analysis Expert",
      "pattern": "recurring",
      "schedule_config": {"daily_time": "09:00"}
    }
  ],
  "adequate": true,
  "reason": "Why these tasks are enough"
}
`,
	OpenManus: `{
  "title": "What the plan is about",
  "steps": [
    "[DESIGN] Say what comes first",
    "[ANALYSIS] Say what comes next"
  ]
}
`,
}
