package caller

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// The limits of what is buffered of an answer, in bytes: a key, a title, and the text before the JSON of an answer that should be
// JSON.
const (
	maxKey    = 64
	maxLine   = 300
	maxBefore = 200
)

// said maps keys whose text is for people to the type of item.
var said = map[string]item.Type{
	"thought": item.Thinking, "thinking": item.Thinking, "reason": item.Thinking, "reasoning": item.Thinking, "rationale": item.Thinking,
	"answer": item.Text, "question": item.Text, "guidance_message": item.Text, "guidance": item.Text, "message": item.Text,
}

// named lists the keys that may name a step, the best first.
var named = []string{"title", "name", "goal", "task", "query", "description"}

// readable shows people what a planner's model writes, while it writes: thoughts and answers as text, a plan as the list of its
// titles, and anything that is not JSON unchanged. It reads each byte once, buffers a bounded amount, and decides nothing. Broken
// JSON is shown as far as it can be read.
type readable struct {
	key  string
	json bool // The answer should be JSON, though text may precede it.
	show func(item.Item)

	sent    map[string]int // The length of each item, by ID.
	types   map[string]item.Type
	order   []string // The IDs in the order of their first texts.
	before  []byte   // Text that may precede JSON.
	plain   bool     // The answer is text.
	retries int      // Counts the attempts that failed.
	scan    scanner
}

func newReadable(key string, json bool, show func(item.Item)) *readable {
	r := &readable{key: key, json: json, show: show, types: map[string]item.Type{}}
	r.restart()
	return r
}

// restart forgets an answer that starts again.
func (r *readable) restart() {
	r.sent, r.before, r.plain = map[string]int{}, nil, false
	r.scan = scanner{out: r}
}

// take shows a part of the answer.
func (r *readable) take(d llm.Delta) {
	if d.Restart {
		r.restart()
	}
	if d.Retry != "" {
		r.retries++
		r.show(item.Item{Type: item.Warning, ID: fmt.Sprintf("%s/retry/%d", r.key, r.retries), Text: d.Retry + "; it is asked again", Done: true})
	}
	if d.Reasoning != "" {
		r.add("thought", item.Thinking, d.Reasoning)
	}
	switch {
	case d.Text == "":
	case r.plain:
		r.add("text", item.Text, d.Text)
	case r.scan.begun:
		r.scan.read(d.Text)
	default:
		r.begin(d.Text)
	}
}

// begin decides whether an answer is JSON or text.
func (r *readable) begin(text string) {
	r.before = append(r.before, text...)
	if at := strings.IndexAny(string(r.before), "{["); at >= 0 && (r.json || unfenced(r.before[:at]) == "") {
		rest := string(r.before[at:])
		if lead := unfenced(r.before[:at]); lead != "" {
			r.add("text", item.Text, lead+"\n")
		}
		r.before, r.scan.begun = nil, true
		r.scan.read(rest)
		return
	}
	if whole := unfenced(r.before); !r.json && whole != "" && !strings.HasPrefix("json", whole) || len(r.before) > maxBefore {
		r.plain = true
		r.add("text", item.Text, string(r.before))
		r.before = nil
	}
}

// unfenced returns a text without code fences and tags around it.
func unfenced(text []byte) string {
	s := strings.TrimSpace(string(text))
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(s, "```json"), "```"))
	last := s[strings.LastIndexByte(s, '\n')+1:]
	if strings.HasPrefix(last, "<") && strings.HasSuffix(last, ">") && !strings.Contains(last, " ") {
		s = strings.TrimSpace(strings.TrimSuffix(s, last))
	}
	return s
}

// done shows the rest, and marks all items as done.
func (r *readable) done() {
	if text := unfenced(r.before); text != "" {
		r.add("text", item.Text, text)
	}
	for _, id := range r.order {
		r.show(item.Item{Type: r.types[id], ID: id, Done: true})
	}
}

// add continues an item.
func (r *readable) add(name string, t item.Type, text string) {
	if text == "" {
		return
	}
	id := r.key + "/" + name
	if _, known := r.types[id]; !known {
		r.types[id] = t
		r.order = append(r.order, id)
	}
	r.show(item.Item{Type: t, ID: id, Offset: r.sent[id], Text: text})
	r.sent[id] += len(text)
}

// scanner finds the texts for people in JSON that arrives in pieces.
type scanner struct {
	out   *readable
	begun bool

	levels  []level
	inText  bool
	escape  []byte // An incomplete escape sequence.
	text    []byte // The string so far: a key, or a title.
	pending []byte // Text of a string to show, at the end of a piece.
	high    rune   // The first half of a surrogate pair.
}

// level is an open object or list.
type level struct {
	list bool
	key  string            // The key of the value that is being read.
	kept map[string]string // Texts that may name a step.
	told bool              // Its title was shown.
	word bool              // The key was read, and its value follows.
}

func (s *scanner) read(text string) {
	for i := 0; i < len(text); i++ {
		if s.inText {
			s.inside(text[i])
		} else {
			s.outside(text[i])
		}
	}
	s.flush()
}

func (s *scanner) top() *level {
	if len(s.levels) == 0 {
		return &level{}
	}
	return &s.levels[len(s.levels)-1]
}

// maxDepth limits the nesting depth that is followed.
const maxDepth = 64

func (s *scanner) outside(c byte) {
	switch c {
	case '{', '[':
		if len(s.levels) < maxDepth {
			s.levels = append(s.levels, level{list: c == '['})
		}
	case '}', ']':
		if n := len(s.levels); n > 0 {
			s.close(&s.levels[n-1])
			s.levels = s.levels[:n-1]
		}
	case ':':
		s.top().word = true
	case ',':
		s.top().word = false
	case '"':
		s.inText, s.text = true, s.text[:0]
	}
}

// close shows a step without a title by another key that names it.
func (s *scanner) close(l *level) {
	for _, name := range named {
		if text := l.kept[name]; text != "" && !l.told && len(s.levels) > 1 {
			l.told = true
			s.out.add("plan", item.Plan, "- "+text+"\n")
		}
	}
}

// streams returns the type of the current string if it is shown while it arrives.
func (s *scanner) streams() (t item.Type, ok bool) {
	l := s.top()
	if l.list || !l.word || len(s.levels) != 1 {
		return "", false
	}
	t, ok = said[l.key]
	return t, ok
}

func (s *scanner) inside(c byte) {
	switch {
	case len(s.escape) > 0:
		s.escape = append(s.escape, c)
		s.unescape()
	case c == '\\':
		s.escape = append(s.escape, c)
	case c == '"':
		s.inText = false
		s.flush()
		s.ended(string(s.text))
	default:
		s.put(c)
	}
}

func (s *scanner) put(bytes ...byte) {
	if _, ok := s.streams(); ok {
		s.pending = append(s.pending, bytes...)
	} else if len(s.text)+len(bytes) <= maxLine {
		s.text = append(s.text, bytes...)
	}
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': ' ', 'f': ' '}

// unescape decodes an escape sequence once it is complete.
func (s *scanner) unescape() {
	c := s.escape[1]
	if c != 'u' {
		if plain, ok := escapes[c]; ok {
			c = plain
		}
		s.escape = s.escape[:0]
		s.put(c)
		return
	}
	if len(s.escape) < len(`\u0000`) {
		return
	}
	r := rune(0)
	for _, digit := range s.escape[2:] {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", digit|0x20)&15)
	}
	s.escape = s.escape[:0]
	switch {
	case r >= 0xd800 && r < 0xdc00:
		s.high = r
		return
	case r >= 0xdc00 && r < 0xe000:
		r = 0x10000 + (s.high-0xd800)<<10 + (r - 0xdc00)
	}
	s.put(utf8.AppendRune(nil, r)...)
}

// flush shows the text that has arrived.
func (s *scanner) flush() {
	if len(s.pending) == 0 {
		return
	}
	if t, ok := s.streams(); ok {
		s.out.add(s.top().key, t, string(s.pending))
	}
	s.pending = s.pending[:0]
}

// ended handles a complete string: a key, the title of a plan or a step, or a step in one string.
func (s *scanner) ended(text string) {
	l := s.top()
	switch {
	case !l.list && !l.word:
		l.key = text[:min(len(text), maxKey)]
	case l.list:
		if over := len(s.levels) - 2; over >= 0 && stepLists[s.levels[over].key] {
			s.out.add("plan", item.Plan, "- "+oneLine(text)+"\n")
		}
	case l.key == "title" && len(s.levels) == 1:
		s.out.add("plan", item.Plan, oneLine(text)+"\n")
	case l.key == "title" && !l.told:
		l.told = true
		s.out.add("plan", item.Plan, "- "+oneLine(text)+"\n")
	case len(s.levels) > 1:
		if l.kept == nil {
			l.kept = map[string]string{}
		}
		for _, name := range named {
			if l.key == name {
				l.kept[name] = oneLine(text)
			}
		}
	}
}

// stepLists are the keys of lists whose strings are steps.
var stepLists = map[string]bool{"steps": true, "tasks": true, "subtasks": true, "plan": true}

func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}
