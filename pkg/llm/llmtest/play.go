package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Play answers like a model that works with the built-in experts: it asks how long the result may be, plans four steps, and has
// their tools count and write. It says only what the tools have returned, and that it is scripted. It speaks the language of the
// goal, Chinese or English. All other questions it answers like Planner.
type Play struct {
	// Watched is true if a person watches: then it asks its question, and writes at the pace of a fast reader.
	Watched bool
}

// pace is the pause between two pieces of an answer while a person watches.
const pace = 12 * time.Millisecond

// Respond answers one question.
func (p Play) Respond(q Question) (Answer, error) {
	a, err := p.respond(q)
	if p.Watched {
		a.Gap = pace
	}
	return a, err
}

func (p Play) respond(q Question) (Answer, error) {
	goal := goalOf(q)
	say := wordsFor(goal)
	switch schema := string(q.Schema); {
	case strings.Contains(schema, `"clarify"`):
		return p.triage(q, goal, say)
	case strings.Contains(schema, `"subjobs"`) && strings.Contains(schema, `"Coder"`) && strings.Contains(schema, `"Writer"`) && strings.Contains(schema, `"Analyst"`):
		return encoded(planned(goal, say))
	case schema == "" && forced(q) == "" && strings.Contains(q.All(), "<deliverable>"):
		return p.step(q, goal, say)
	}
	return Planner{}.Respond(q)
}

func encoded(v any) (Answer, error) {
	text, err := json.Marshal(v)
	return Answer{Text: string(text)}, err
}

// triage asks how long the result may be, unless it has asked before or no person watches, and passes the goal on.
func (p Play) triage(q Question, goal string, say words) (Answer, error) {
	a := object{"decision": "hand_on", "answer": nil, "enriched_query": nil, "locale": say.locale, "title": short(goal), "question": nil, "options": nil}
	if p.Watched && strings.Contains(q.All(), "writer") && say.wished(goal) == "" {
		a["decision"], a["question"], a["options"] = "clarify", say.question, say.options
	}
	return encoded(a)
}

// planOf lists the ids of the steps in its plan.
var planOf = [4]string{"outline", "figures", "draft", "result"}

// planned returns a plan of four steps.
func planned(goal string, say words) object {
	wish := say.wished(goal)
	if wish != "" {
		goal, wish = strings.TrimSuffix(goal, " - "+wish), fmt.Sprintf(say.wish, wish)
	}
	step := func(n int, expert string, after ...int) object {
		s, dependencies := say.steps[n], []string{}
		for _, at := range after {
			dependencies = append(dependencies, planOf[at])
		}
		return object{
			"id": planOf[n], "expert": expert, "dependencies": dependencies, "title": s.title, "goal": fmt.Sprintf(s.goal, goal), "context": wish, "thinking": s.why,
			"completion_criteria": s.done, "language": nil, "schedule": nil,
		}
	}
	return object{
		"title": short(goal), "thought": say.thought, "locale": say.locale, "adequate": true, "has_enough_context": true, "guidance_message": nil,
		"subjobs": []object{
			step(0, "Coder"), step(1, "Analyst", 0), step(2, "Writer", 0), step(3, "Writer", 1, 2),
		},
	}
}

// step does one step with the tools that it has: it counts with a program, writes a file, and says what both returned.
func (p Play) step(q Question, goal string, say words) (Answer, error) {
	var results []string
	for _, turn := range q.Turns {
		if turn.Role == "tool" {
			results = append(results, strings.TrimSpace(turn.Text))
		}
	}
	_, runs := q.Tools["run"]
	_, edits := q.Tools["edit"]
	_, writes := q.Tools["write_file"]
	file, text := "out/"+fileOf(goal, say)+".md", say.page(goal, given(q))
	var calls []Call
	var before []string
	if runs {
		calls, before = append(calls, called("run", "command", "printf %s "+quoted(goal)+" | wc -m")), append(before, say.counts)
	}
	switch {
	case edits:
		calls, before = append(calls, called("edit", "do", "create", "path", file, "new", text)), append(before, say.writes)
	case writes:
		calls, before = append(calls, called("write_file", "path", file, "content", text)), append(before, say.writes)
	}
	if n := len(results); n < len(calls) {
		return Answer{Text: before[n], Calls: calls[n : n+1]}, nil
	}
	lines := []string{fmt.Sprintf(say.answer, goal)}
	for n, result := range results {
		first, _, _ := strings.Cut(result, "\n")
		if n < len(calls) {
			lines = append(lines, fmt.Sprintf(say.told, calls[n].Name, short(first)))
		}
	}
	if len(calls) == 0 && !strings.Contains(q.All(), delivers) {
		return Answer{Text: lines[0]}, nil
	}
	return Answer{Text: "<deliverable>" + strings.Join(lines, "\n") + "</deliverable>"}, nil
}

// called returns a call with arguments in a fixed order: names and values alternate.
func called(name string, args ...string) Call {
	var b strings.Builder
	for n, text := range args {
		raw, _ := json.Marshal(text) // A string can always be encoded.
		b.WriteString([]string{",", ":"}[n%2] + string(raw))
	}
	return Call{Name: name, Args: "{" + b.String()[1:] + "}"}
}

// given returns the first lines of the answers of earlier steps.
func given(q Question) (list []string) {
	for _, part := range strings.Split(q.Last("user"), `<data kind="result"`)[1:] {
		_, body, _ := strings.Cut(part, ">")
		body, _, _ = strings.Cut(body, "</data>")
		first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
		list = append(list, short(first))
	}
	return list
}

// fileOf names the file of a step; "notes" for a step of another plan.
func fileOf(goal string, say words) string {
	for n, s := range say.steps {
		if before, _, _ := strings.Cut(s.goal, "%s"); strings.HasPrefix(goal, before) {
			return planOf[n]
		}
	}
	return "notes"
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// short returns the beginning of a text.
func short(text string) string {
	if letters := []rune(text); len(letters) > 60 {
		return string(letters[:59]) + "…"
	}
	return text
}

// wordsFor returns what is said about a goal, in its language: a Chinese name alone makes no text Chinese.
func wordsFor(goal string) words {
	han, letters := 0, 0
	for _, r := range goal {
		if unicode.Is(unicode.Han, r) {
			han++
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if han*5 > letters {
		return chinese
	}
	return english
}
