package batch

import (
	"reflect"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The form is read by runners of other releases: it only grows.
func TestABatchIsLinesOfMembers(t *testing.T) {
	members := []Member{
		{Subject: "jobs.work.default.x.j1.a.1", ID: "j1@7/subjob.issued/a/1", Work: []byte(`{"kind":"execute","goal":"say \"work\":"}`)},
		{Subject: "jobs.work.default.x.j2.b.2", ID: "j2@9/subjob.issued/b/2", Trace: "00-aa-bb-01", Work: []byte(`{}`)},
	}
	const want = `{"subject":"jobs.work.default.x.j1.a.1","id":"j1@7/subjob.issued/a/1","work":{"kind":"execute","goal":"say \"work\":"}}
{"subject":"jobs.work.default.x.j2.b.2","id":"j2@9/subjob.issued/b/2","trace":"00-aa-bb-01","work":{}}
`
	var body []byte
	for i := range members {
		body = Append(body, &members[i])
	}
	if string(body) != want {
		t.Errorf("%s, want\n%s", body, want)
	}
	got, err := Read(body)
	if !reflect.DeepEqual(members, got) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A batch written by another JSON encoder is understood as well, as long as the work comes last.
func TestAnAddressMayBeWrittenInAnyForm(t *testing.T) {
	got, err := Read([]byte(`{ "trace":"t", "id":"\u0069d", "new": 1, "subject":"s","work":{"a":1}}`))
	if !reflect.DeepEqual(got, []Member{{Subject: "s", ID: "id", Trace: "t", Work: []byte(`{"a":1}`)}}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNoBatchIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		"":                                 "it is empty",
		"\n":                               "line 1",
		`{"goal":"g"}`:                     "line 1",
		`{"subject":"s","work":{}}`:        "no id",
		`{"id":"i","work":{}}`:             "no subject",
		`{"subject":s,"id":"i","work":{}}`: "line 1",
		"{\"subject\":\"s\",\"id\":\"i\",\"work\":{}}\n{": "line 2",
	} {
		if list, err := Read([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", body, list, err, want)
		}
	}
}

func TestABatchIsBounded(t *testing.T) {
	small := &Member{Subject: "s", ID: "i", Work: []byte(`{}`)}
	large := &Member{Subject: "s", ID: "i", Work: []byte(`"` + strings.Repeat("x", MostBytes) + `"`)}
	lines := &Member{Subject: "s", ID: "i", Work: []byte("{\n}")}
	if !Fits(nil, 0, small) || !Fits(nil, MostMembers-1, small) {
		t.Error("a small member does not fit")
	}
	if Fits(nil, MostMembers, small) || Fits(make([]byte, MostBytes), 1, small) || Fits(nil, 0, large) || Fits(nil, 0, lines) {
		t.Error("what is too much, or on several lines, fits")
	}
}

func TestBatchesLieApartFromThePool(t *testing.T) {
	n := events.NewNames("")
	if of, batches := Of(Pool("default")); of != "default" || !batches {
		t.Error(of, batches)
	}
	if of, batches := Of("default"); of != "default" || batches {
		t.Error(of, batches)
	}
	if got := Subject(n, "default", "x", "j1", 3); got != "jobs.work.default~batch.x.j1.~batch.3" {
		t.Error(got)
	}
	if got := Subject(n, "default", "x", "", 3); got != "jobs.work.default~batch.x.~batch.~batch.3" {
		t.Error(got)
	}
}

// What goes back to the queue is the message that the SubJob would have had.
func TestAMemberGoesBackAsAMessageOfItsOwn(t *testing.T) {
	m := Member{Subject: "s", ID: "i", Trace: "t", Work: []byte(`{}`)}
	got := m.Message()
	if got.Subject != "s" || string(got.Body) != "{}" || got.Get(events.HeaderMsgID) != "i" || got.Get(events.HeaderID) != "i" || got.Get(events.HeaderTrace) != "t" {
		t.Errorf("%+v", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"subject":"s","id":"i","work":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := Read(body)
		if err != nil {
			return
		}
		for i := range members {
			if members[i].Subject == "" || members[i].ID == "" {
				t.Fatalf("%+v", members[i])
			}
		}
	})
}
