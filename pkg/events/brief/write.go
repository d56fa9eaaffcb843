package brief

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// Append appends a brief to a text: the same bytes as json.Marshal, but faster.
func (b *Brief) Append(text []byte) ([]byte, error) {
	w := plainjson.NewWriterIn(text)
	w.Open()
	w.MustInt("v", int64(b.V))
	w.MustText("job", b.Job)
	w.Key("request")
	b.Request.write(w)
	if b.Plan != nil {
		w.Key("plan")
		b.Plan.write(w)
	}
	if b.Place != nil {
		w.Key("place")
		w.Open()
		b.Place.fields(w)
		w.MustInt("n", int64(b.Place.N))
		w.MustInt("of", int64(b.Place.Of))
		w.Close()
	}
	if m := b.Marks; m != nil {
		w.Key("marks")
		w.Open()
		w.MustInt("completed", int64(m.Completed))
		w.MustInt("in_progress", int64(m.InProgress))
		w.MustInt("not_started", int64(m.NotStarted))
		w.MustInt("blocked", int64(m.Blocked))
		w.Close()
	}
	writeSteps(w, "predecessors", b.Predecessors)
	w.Int("more_predecessors", int64(b.MorePredecessors))
	writeSteps(w, "successors", b.Successors)
	w.Int("more_successors", int64(b.MoreSuccessors))
	w.Texts("lessons", b.Lessons)
	w.Text("locale", b.Locale)
	w.Text("timezone", b.Timezone)
	w.Time("deadline", b.Deadline)
	w.Some("budget", b.Budget.Tokens != 0 || b.Budget.CostUSD != 0, b.Budget)
	w.Some("tools", b.Tools != nil, b.Tools)
	w.Text("session", b.Session)
	w.Text("thread", b.Thread)
	w.Text("user", b.User)
	w.Close()
	return w.Bytes()
}

func (r *Request) write(w *plainjson.Writer) {
	w.Open()
	w.Text("goal", r.Goal)
	w.Text("context", r.Context)
	w.Texts("inputs", r.Inputs)
	w.Texts("attachments", r.Attachments)
	w.Close()
}

func (p *Plan) write(w *plainjson.Writer) {
	w.Open()
	w.Int("version", int64(p.Version))
	w.Text("title", p.Title)
	writeSteps(w, "steps", p.Steps)
	w.Int("first", int64(p.First))
	w.Close()
}

func writeSteps(w *plainjson.Writer, name string, list []Step) {
	if len(list) == 0 {
		return
	}
	w.Key(name)
	w.List(len(list), func(i int) {
		w.Open()
		list[i].fields(w)
		w.Close()
	})
}

func (s *Step) fields(w *plainjson.Writer) {
	w.MustText("id", s.ID)
	w.Text("title", s.Title)
	w.Text("status", string(s.Status))
}

// Marshal encodes what is left out of a brief.
func (r *Rest) Marshal() ([]byte, error) { return json.Marshal(r) }

// Weigh estimates the bytes of a list of steps as JSON, with statuses.
func Weigh(list []Step) int {
	total := 0
	for i := range list {
		total += len(list[i].ID) + len(list[i].Title) + len(`{"id":"","title":"","status":"not_started"},`)
	}
	return total
}

// Line puts a text on one line of at most most bytes: control characters and white space become single spaces, and the rest is cut.
func Line(text string, most int) string {
	whole := len(text)
	if enough := 4*most + 64; whole > enough { // Only the beginning of a long goal is needed.
		text = text[:start(text, enough)]
	}
	if crooked(text) {
		text = strings.Join(strings.FieldsFunc(text, blank), " ")
	}
	if whole > 4*most+64 && len(text) <= most {
		text += "…"
	}
	return Clip(text, most)
}

func blank(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

// crooked reports whether Line would change a text.
func crooked(text string) bool {
	last := ' '
	for _, r := range text {
		if r != ' ' && blank(r) || r == ' ' && last == ' ' {
			return true
		}
		last = r
	}
	return last == ' ' && text != ""
}

// start returns the index at which the character that contains a byte begins.
func start(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// Clip keeps the first bytes of a text, whole characters only, and marks the cut with "…". The result has up to most bytes.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:start(text, max(most-len("…"), 0))] + "…"
}
