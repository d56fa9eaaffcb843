package verb_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// reader finds the messages of the document that a message on the bus can be.
type reader struct {
	*testing.T
	all   object
	known map[string]*schema.Schema
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{T: t, known: map[string]*schema.Schema{}}
	musttest.Decode(t, musttest.JSON(t, verb.AsyncAPI("v1.2.3", events.NewNames("jobs"))), &r.all)
	return r
}

// on finds the channels with a subject.
func (r *reader) on(subject string) (found []string) {
	for _, id := range under(r.all, "#/channels/*") {
		if address, ok := at(r.all, id+"/address").(string); ok {
			form := parameter.ReplaceAllString(strings.ReplaceAll(address, ".", `\.`), `[^.]+`)
			if regexp.MustCompile("^" + form + "$").MatchString(subject) {
				found = append(found, id)
			}
		}
	}
	return found
}

// fits reports whether a value fits the schema at a place; everything fits where there is none.
func (r *reader) fits(place string, value []byte) bool {
	r.Helper()
	if at(r.all, place) == nil {
		return true
	}
	s := r.known[place]
	if s == nil {
		var err error
		s, err = schema.Read(musttest.JSON(r, object{"components": r.all["components"], "allOf": []any{at(r.all, place)}}))
		if err != nil {
			r.Fatalf("%s: %v", place, err)
		}
		r.known[place] = s
	}
	return len(s.Misfits(value)) == 0
}

// names lists the messages of a channel that a message can be.
func (r *reader) names(channel string, header map[string][]string, body []byte) (found []string) {
	r.Helper()
	flat := object{}
	for name, values := range header { // any order: a map is made of it.
		flat[name] = values[0]
	}
	headers := musttest.JSON(r, flat)
	for name, m := range at(r.all, channel+"/messages").(object) { // any order: the list is sorted.
		place := m.(object)["$ref"].(string)
		parts := [][]byte{body}
		if at(r.all, place+"/contentType") == "application/x-ndjson" {
			parts = slices.Collect(lines(body))
		}
		fits := r.fits(place+"/headers", headers)
		for _, part := range parts {
			fits = fits && r.fits(place+"/payload", part)
		}
		if fits {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// lines yields the lines of a body, each without its end.
func lines(body []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for line := range strings.Lines(string(body)) {
			if !yield([]byte(strings.TrimSpace(line))) {
				return
			}
		}
	}
}

// expect fails the test unless a message on a subject is exactly the one named, and on one channel only.
func (r *reader) expect(want string, m events.Message) {
	r.Helper()
	channels := r.on(m.Subject)
	if len(channels) != 1 {
		r.Errorf("%s is on the channels %v, want one", m.Subject, channels)
		return
	}
	if got := r.names(channels[0], m.Header, m.Body); !slices.Equal(got, []string{want}) {
		r.Errorf("%s %v\n%.300s\nis described as %v, want %s", m.Subject, m.Header, m.Body, got, want)
	}
}

// golden reads a file of the wire format. They are written from made-up values, of which the place of the policy has to be one of
// those that there are.
func (r *reader) golden(file string) []byte {
	r.Helper()
	return bytes.ReplaceAll(musttest.Read(r, "../events/"+file), []byte(`"some FailurePolicy"`), []byte(`"continue"`))
}

// TestEachEventOfTheLogIsOneMessageOfItsSubject reads the events that earlier and present releases wrote.
func TestEachEventOfTheLogIsOneMessageOfItsSubject(t *testing.T) {
	r := newReader(t)
	for _, dir := range []string{"testdata/wire", "schedule/testdata/wire"} {
		files, err := filepath.Glob("../events/" + dir + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			var g struct {
				Subject string              `json:"subject"`
				Header  map[string][]string `json:"header"`
				Body    json.RawMessage     `json:"body"`
			}
			musttest.Decode(t, r.golden(dir+"/"+filepath.Base(file)), &g)
			kind := strings.Join(strings.SplitN(filepath.Base(file), ".", 3)[:2], ".")
			if _, last, ok := strings.Cut(g.Subject, kind); ok && len(r.on(strings.TrimSuffix(g.Subject, last))) == 1 {
				g.Subject = strings.TrimSuffix(g.Subject, last) // The end of a job has no key but in these files.
			}
			r.expect(kind, events.Message{Subject: g.Subject, Header: g.Header, Body: g.Body})
		}
	}
}

func TestEachOtherMessageIsOneOfItsSubject(t *testing.T) {
	r, n := newReader(t), events.NewNames("jobs")
	form := func(name string) []byte { return r.golden("testdata/form/" + name + ".json") }
	work := batch.Member{Subject: n.WorkFor("default", "adder", "j1", "a", 2), ID: "j1@1/a/2", Work: compacted(t, form("work"))}
	report := n.RunEvent("j1", events.KindSubJobReported, "a", 2)
	id := events.Header(events.HeaderMsgID, "j1@1/a/2")
	items := r.golden("item/testdata/items.jsonl")
	for _, c := range []struct {
		want, subject string
		header        map[string][]string
		body          []byte
	}{
		{"subjob.reported", report, id, []byte(`{"outcome":"SUCCESS","output":1}`)}, // As docs/experts.md tells workers.
		{"subjob.reported", report + ".default", id, []byte(`{"outcome":"SUCCESS","output":1}`)},
		{"request", n.Request(), nil, form("request")},
		{"rejected", n.Rejected(), nil, form("rejection")},
		{"answered", item.Answered(n), nil, []byte(`{"message":"m1","job_id":"j1","request":"ask"}`)},
		{"work", work.Subject, work.Message().Header, work.Work},
		{"batch", batch.Subject(n, "default", "adder", "", 2), nil, batch.Append(batch.Append(nil, &work), &work)},
		{"journal", n.JournalOf("j1", "a"), nil, form("journal")},
		{"journal", n.JournalIn("j1", "a", "default"), nil, form("journal")},
		{"cancel", n.Cancel("j1", "a"), nil, []byte(`{"run":2,"reason":"stopped"}`)},
		{"cancel", n.Cancel("j1", ""), nil, []byte(`{"reason":"stopped"}`)},
		{"item", item.LiveSubjects(n).SubJob("j1", "a"), nil, items},
		{"conversation", item.Subject(n, "hall"), id, []byte(`{"type":"message","id":"request","job":"j1","text":"hello"}`)},
		{"live", n.Live("j1", "a"), nil, []byte(`{"text":"hel"}`)},
		{"dead-letter", n.SetAside("request", 7), nil, form("request")},
		{"dead-letter", n.SetAside("work", 7) + ".default", nil, form("work")},
	} {
		r.expect(c.want, events.Message{Subject: c.subject, Header: c.header, Body: c.body})
	}
}

func compacted(t *testing.T, text []byte) json.RawMessage {
	t.Helper()
	var short bytes.Buffer
	musttest.Do(t, json.Compact(&short, text))
	return short.Bytes()
}

// A refusal and an answer are told apart by the headers alone, so a body with the fields of both is no riddle.
func TestAReplyIsAnAnswerOrARefusal(t *testing.T) {
	r := newReader(t)
	refused := events.Header("Nats-Service-Error", "job j1 exists", "Nats-Service-Error-Code", "conflict")
	for _, c := range []struct {
		want   string
		header map[string][]string
		body   string
	}{
		{"reply", nil, `{"job_id":"j1"}`},
		{"reply", nil, `{"job_id":"j1","code":"conflict","message":"job j1 exists"}`},
		{"fault", refused, `{"job_id":"j1","code":"conflict","message":"job j1 exists"}`},
		{"fault", refused, `{"job_id":"j1","faults":[{"code":"conflict","message":"job j1 exists"}]}`},
	} {
		if got := r.names("#/channels/api.submit.reply", c.header, []byte(c.body)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%v %s is %v, want %s", c.header, c.body, got, c.want)
		}
	}
	if got := r.names("#/channels/api.submit.reply", refused, []byte(`{"job_id":"j1"}`)); len(got) > 0 {
		t.Errorf("a refusal that names no fault is %v", got)
	}
}
