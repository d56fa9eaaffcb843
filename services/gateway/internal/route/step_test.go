package route_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// read decodes the answer to a GET.
func read[T any](s *site, path string) (v T) {
	s.Helper()
	status, body := s.ask(verb.Viewer, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(body), &v); status != http.StatusOK || err != nil {
		s.Fatal(path, status, body, err)
	}
	return v
}

// stored stores a payload of a job.
func (s *site) stored(job, text, name, media string) events.Ref {
	s.Helper()
	ref := musttest.Get(s.bus.Blobs().Put(s.Context(), job, []byte(text)))(s)
	ref.Name, ref.MediaType = name, media
	return ref
}

// worked is planned, plus a second step that has read a page and written files; long is the answer of its tool.
func (s *site) worked(long string) {
	s.Helper()
	s.planned("j")
	answer := s.stored("j", long, "", "")
	records := []events.JournalRecord{
		{Type: events.JournalClaimed, Run: 1, Owner: "runner-2"},
		{Type: events.JournalIntent, Run: 1, Key: "t/1", Name: "tool fetch", Data: json.RawMessage(`{"url":"u"}`)},
		{Type: events.JournalResult, Run: 1, Key: "t/1", Ref: &answer},
		{Type: events.JournalIntent, Run: 1, Key: "t/2", Name: "tool sum"},
		{Type: events.JournalResult, Run: 1, Key: "t/2", Data: json.RawMessage(`{"sum":3}`)},
	}
	var last uint64
	for _, r := range records {
		var err error
		if last, err = s.bus.Journal("j", "b").Append(s.Context(), r, last); err != nil {
			s.Fatal(err)
		}
	}
	s.state("j", events.Event{Kind: events.KindSubJobReported, SubJob: "b", Run: 1, Data: &events.SubJobReported{
		Outcome: events.Success, Output: json.RawMessage(`"read"`), Owner: "runner-2", Log: "line 1\nline 2\n", Spent: events.Spent{Tokens: 3},
		Artifacts: []events.Ref{
			s.stored("j", "# Report\n\n<script>alert(1)</script>\n\n**good**\n", "out/report.md", "text/markdown"),
			s.stored("j", "a,b\n1,\"<b>\"\n", "t.csv", "text/csv"),
			s.stored("j", "\x89PNG\r\n\x1a\n0000", "p.png", "image/png"),
			s.stored("j", strings.Repeat("line\n", 100_000), "long.txt", "text/plain"),
		},
	}})
}

func TestAStepIsShownWithEverythingThatIsKnownOfIt(t *testing.T) {
	s := open(t, nil, nil)
	long := strings.Repeat("page ", 10_000)
	s.worked(long)
	step := read[verb.SubJobOf](s, "/api/v1/jobs/j/subjobs/b")
	if len(step.Inputs) != 1 || step.Inputs[0].SubJob != "a" || string(step.Inputs[0].Output) != `"done"` || string(step.Output) != `"read"` || step.Log != "line 1\nline 2\n" ||
		len(step.Brief) < 10 || len(step.Why) < 10 || len(step.Runs) != 1 || step.Runs[0].Owner != "runner-2" || step.Runs[0].Tokens != 3 {
		t.Errorf("%+v", step)
	}
	if len(step.Calls) != 2 || !step.Calls[0].Truncated || step.Calls[0].Size != int64(len(long)) || len(step.Calls[0].Answer) > 17<<10 || string(step.Calls[1].Answer) != `{"sum":3}` {
		t.Fatalf("%+v", step.Calls)
	}
	r, body := s.do(s.request(verb.Viewer, http.MethodGet, step.Calls[0].Href, ""))
	if body != long || !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d bytes of the answer, %v", len(body), r.Header)
	}
	if len(step.Artifacts) != 4 || step.Artifacts[0].Preview != "markdown" || step.Artifacts[0].Href != "/api/v1/jobs/j/artifacts/b/out%2Freport.md" {
		t.Errorf("%+v", step.Artifacts)
	}
	if _, body := s.do(s.request(verb.Viewer, http.MethodGet, step.Artifacts[0].Href, "")); !strings.HasPrefix(body, "# Report") {
		t.Errorf("the file is not at its address: %s", body)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/subjobs/x", ""), http.StatusNotFound, events.CodeNotFound)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/payloads/x", ""), http.StatusBadRequest, events.CodeInvalid)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/payloads/"+strings.Repeat("a", 64), ""), http.StatusNotFound, events.CodeNotFound)
}

func TestAFileIsSentInRanges(t *testing.T) {
	s := open(t, nil, nil)
	s.worked("page")
	_, whole := s.do(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/artifacts/b/long.txt", ""))
	for ranged, want := range map[string]struct {
		status      int
		begin, says string
		size        int
	}{
		"bytes=0-1":           {http.StatusPartialContent, whole[:2], "bytes 0-1/500000", 2},
		"bytes=499990-":       {http.StatusPartialContent, whole[499_990:], "bytes 499990-499999/500000", 10},
		"bytes=-3":            {http.StatusPartialContent, whole[499_997:], "bytes 499997-499999/500000", 3},
		"":                    {http.StatusOK, whole, "", 500_000},
		"bytes=0-1,5-6":       {http.StatusOK, whole, "", 500_000}, // Several ranges would be read one by one, each from the beginning of the file.
		"bytes=500000-500001": {http.StatusRequestedRangeNotSatisfiable, `{"type":"urn:jobgraph:fault:invalid"`, "bytes */500000", 0},
		"lines=1":             {http.StatusRequestedRangeNotSatisfiable, `{"type":"urn:jobgraph:fault:invalid"`, "", 0},
	} {
		r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/artifacts/b/long.txt", "")
		if ranged != "" {
			r.Header.Set("Range", ranged)
		}
		answer, body := s.do(r)
		refused := want.size == 0
		if answer.StatusCode != want.status || !strings.HasPrefix(body, want.begin) || answer.Header.Get("Content-Range") != want.says || !refused && len(body) != want.size ||
			refused == strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment") || refused && !strings.Contains(body, "500000 bytes") {
			t.Errorf("%s: %d %.80q %v", ranged, answer.StatusCode, body, answer.Header)
		}
	}
}

func TestOfALongLogTheEndIsShown(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("j")
	s.state("j", events.Event{Kind: events.KindSubJobReported, SubJob: "c", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Log: strings.Repeat("x", 20_000) + "end"}})
	if step := read[verb.SubJobOf](s, "/api/v1/jobs/j/subjobs/c"); step.LogSize != 20_003 || len(step.Log) != 16<<10 || !strings.HasSuffix(step.Log, "end") {
		t.Errorf("%d of %d bytes", len(step.Log), step.LogSize)
	}
}

func TestAStepIsShownAsItWasAtAnEvent(t *testing.T) {
	s := open(t, nil, nil)
	s.worked("page")
	seqs := read[verb.Timeline](s, "/api/v1/jobs/j/timeline").Events
	second, ok := seqs[1][0].(float64)
	if !ok {
		t.Fatal(seqs)
	}
	then := read[verb.SubJobOf](s, "/api/v1/jobs/j/subjobs/b?at="+string(musttest.JSON(t, second)))
	if !strings.Contains(string(then.State), `"CREATED"`) || len(then.Runs) != 0 || then.Output != nil || then.Log != "" {
		t.Errorf("%+v", then)
	}
}

func TestFilesHavePreviewsThatDoNothing(t *testing.T) {
	s := open(t, nil, nil)
	s.worked("page")
	p := read[verb.Preview](s, "/api/v1/jobs/j/preview/b/out/report.md")
	if p.Kind != "markdown" || strings.Contains(p.HTML, "<script") || !strings.Contains(p.HTML, "<strong>good</strong>") || p.Truncated {
		t.Errorf("%+v", p)
	}
	if p := read[verb.Preview](s, "/api/v1/jobs/j/preview/b/t.csv"); p.Kind != "csv" || len(p.Rows) != 2 || p.Rows[1][1] != "<b>" {
		t.Errorf("%+v", p)
	}
	if p := read[verb.Preview](s, "/api/v1/jobs/j/preview/b/p.png"); p.Kind != "image" || !strings.HasPrefix(p.Src, "/api/v1/jobs/j/artifacts/") {
		t.Errorf("%+v", p)
	}
	if p := read[verb.Preview](s, "/api/v1/jobs/j/preview/b/long.txt"); p.Kind != "text" || !p.Truncated || p.Size != 500_000 || len(p.HTML) > 300_000 {
		t.Errorf("%s, %d of %d bytes, %v", p.Kind, len(p.HTML), p.Size, p.Truncated)
	}
}

func TestTextsAreRenderedForPages(t *testing.T) {
	s := open(t, nil, nil)
	for body, want := range map[string]string{
		`{"kind":"markdown","text":"**a** <i>b</i>"}`:                `<strong>a</strong>`,
		`{"kind":"code","language":"go","text":"func f()"}`:          `>func</span>`,
		`{"kind":"json","text":"{\"a\":1}"}`:                         `class="chroma"`,
		`{"kind":"diff","before":{"b":1,"a":2},"after":"{\"a\":3}"}`: `diff-add`,
	} {
		status, answer := s.ask(verb.Viewer, http.MethodPost, "/api/v1/render", body)
		var r verb.Rendered
		if err := json.Unmarshal([]byte(answer), &r); err != nil || status != http.StatusOK || !strings.Contains(r.HTML, want) || strings.Contains(r.HTML, "<i>") {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	s.refused(s.request(verb.Viewer, http.MethodPost, "/api/v1/render", `{"kind":"pdf"}`), http.StatusBadRequest, events.CodeInvalid)
}

func TestAPlanIsDrawnForAPage(t *testing.T) {
	s := open(t, nil, nil)
	status, body := s.ask(verb.Viewer, http.MethodPost, "/api/v1/layout", `{"plan":{"subjobs":[{"id":"a","goal":"g"},{"id":"b","goal":"g","dependencies":["a"]}]}}`)
	var d verb.Drawn
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != http.StatusOK || len(d.Layout.SubJobs) != 2 || len(d.Layout.Edges) != 1 {
		t.Errorf("%d %s", status, body)
	}
	s.refused(s.request(verb.Viewer, http.MethodPost, "/api/v1/layout", `{"plan":[1]}`), http.StatusBadRequest, events.CodeMalformed)
	s.refused(s.request(verb.Viewer, http.MethodPost, "/api/v1/layout", `{"plan":{"steps":[]}}`), http.StatusBadRequest, events.CodeMissing)
}

func TestActionsAreThoseThatRolesAndStateAllow(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("j")
	list := func(role verb.Role, query string) map[string]verb.Action {
		status, body := s.ask(role, http.MethodGet, "/api/v1/jobs/j/actions"+query, "")
		var a verb.Actions
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
			t.Fatal(status, body)
		}
		by := map[string]verb.Action{}
		for _, one := range a.Actions {
			by[one.Verb] = one
		}
		return by
	}
	job := list(verb.Operator, "")
	stop, recover := job["stop"], job["recover"]
	if !stop.Permitted || !stop.Possible || stop.CLI != "jobgraph stop j" || stop.NATS != `nats req jobs.api.stop '{"id":"j"}'` || stop.Path != "/api/v1/jobs/j/stop" || recover.Possible || recover.Reason == "" || job["fork"].CLI != "jobgraph fork j" {
		t.Errorf("%+v", job)
	}
	if viewer := list(verb.Viewer, ""); viewer["stop"].Permitted || !viewer["stop"].Possible {
		t.Errorf("%+v", viewer["stop"])
	}
	step := list(verb.Admin, "?subjob=a")
	if a := step["rerun"]; !a.Possible || a.CLI != "jobgraph rerun j/a" || a.Input["subjob"] != "a" || step["retry"].Possible || step["stop"].Possible || step["fork"].CLI != "jobgraph fork j --before a" || step["fork"].NATS != "" {
		t.Errorf("%+v", step)
	}
}

func TestAPageKnowsWhoAsks(t *testing.T) {
	s := open(t, nil, nil)
	m := read[verb.Me](s, "/api/v1/me")
	if m.Name != "viewer" || len(m.Roles) != 1 || len(m.Verbs) < 20 || strings.Contains(strings.Join(m.Verbs, " "), "stop") || m.Version != "v1.2.3" {
		t.Errorf("%+v", m)
	}
	for role, want := range map[verb.Role]string{verb.Viewer: "", verb.Submitter: "stop", verb.Operator: "", verb.Admin: ""} {
		_, body := s.ask(role, http.MethodGet, "/api/v1/me", "")
		var m verb.Me
		musttest.Decode(t, []byte(body), &m)
		if own := strings.Join(m.Own, " "); own != want || slices.Contains(m.Verbs, "stop") != (role == verb.Operator || role == verb.Admin) {
			t.Errorf("%s: %+v", role, m)
		}
	}
}

func TestAnExportHasTheTimelineInItsHeader(t *testing.T) {
	s := open(t, nil, nil)
	s.worked("page")
	r, body := s.do(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/export", ""))
	if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Disposition"), "j.jsonl") {
		t.Fatal(r, body)
	}
	head, _, _ := strings.Cut(body, "\n")
	var header struct {
		Timeline verb.Timeline `json:"timeline"`
	}
	if err := json.Unmarshal([]byte(head), &header); err != nil || len(header.Timeline.Layouts) != 1 || len(header.Timeline.Calls) != 2 || len(header.Timeline.Moves) == 0 {
		t.Fatalf("%v: %s", err, head)
	}
	x, err := client.Read(strings.NewReader(body))
	if err != nil || x.Job != "j" || len(x.Timeline) == 0 {
		t.Errorf("%+v, %v", x, err)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/nobody/export", ""), http.StatusNotFound, events.CodeNotFound)
}
