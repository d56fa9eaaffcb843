package seal_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func key(t *testing.T) *seal.Key {
	t.Helper()
	pair := musttest.Get(nkeys.CreateUser())(t)
	seed := musttest.Get(pair.Seed())(t)
	return musttest.Get(seal.Read(seed))(t)
}

// sealed is an answer that was signed at noon.
func sealed(t *testing.T, k *seal.Key) *events.Message {
	t.Helper()
	m, err := events.Encode(events.NewNames(""), events.Event{
		Kind: events.KindInputClosed, ID: "i", Job: "j", Key: "q", Source: "s", Data: &events.InputClosed{Action: events.Answered, Answer: []byte(`"yes"`), By: "anna"},
	})
	if err == nil {
		err = k.Seal(&m, noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func reason(f *events.Fault) string {
	if f == nil {
		return ""
	}
	return f.Message
}

// The seal does not match if anything differs from what was signed.
func TestASealFitsOnlyWhatWasSigned(t *testing.T) {
	anna, other := key(t), key(t)
	list := &seal.Signers{Signers: []seal.Signer{{Name: "anna", Key: anna.Public(), Facts: []events.Kind{seal.Any}}, {Name: "other", Key: other.Public(), Facts: []events.Kind{seal.Any}}}}
	foreign := strings.Fields(sealed(t, other).Get(seal.Header))
	for what, c := range map[string]struct {
		change func(*events.Message)
		want   string
	}{
		"nothing":                  {func(*events.Message) {}, ""},
		"a header that is no part": {func(m *events.Message) { m.Header[events.HeaderTrace] = []string{"x"} }, ""},
		"the answer":               {func(m *events.Message) { m.Body = []byte(strings.Replace(string(m.Body), "yes", "no", 1)) }, "does not fit"},
		"the job":                  {func(m *events.Message) { m.Subject = events.NewNames("").Event("k", events.KindInputClosed, "q") }, "does not fit"},
		"the request":              {func(m *events.Message) { m.Subject = events.NewNames("").Event("j", events.KindInputClosed, "p") }, "does not fit"},
		"the tenant":               {func(m *events.Message) { m.Subject = events.NewNames("x").Event("j", events.KindInputClosed, "q") }, "does not fit"},
		"the id":                   {func(m *events.Message) { m.Header[events.HeaderID] = []string{"k"} }, "does not fit"},
		"the kind":                 {func(m *events.Message) { m.Header[events.HeaderType] = []string{events.KindStopRequested.Type()} }, "does not fit"},
		"the key":                  {func(m *events.Message) { replace(m, 1, foreign[1]) }, "does not fit"},
		"the moment":               {func(m *events.Message) { replace(m, 2, "1") }, "does not fit"},
		"the signature":            {func(m *events.Message) { replace(m, 3, foreign[3]) }, "does not fit"},
		"a word behind it":         {func(m *events.Message) { m.Header[seal.Header] = []string{m.Get(seal.Header) + " x"} }, "unknown form"},
		"letters":                  {func(m *events.Message) { replace(m, 3, "?") }, "cannot be read"},
		"the form":                 {func(m *events.Message) { replace(m, 0, "v2") }, "unknown form"},
		"no seal":                  {func(m *events.Message) { delete(m.Header, seal.Header) }, "no signature"},
	} {
		m := sealed(t, anna)
		c.change(m)
		got := reason(list.Fact(m, events.KindInputClosed, noon))
		if c.want == "" != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func replace(m *events.Message, at int, by string) {
	parts := strings.Fields(m.Get(seal.Header))
	parts[at] = by
	m.Header[seal.Header] = []string{strings.Join(parts, " ")}
}

func TestASignatureCountsForWhatItsKeyMayAndWhile(t *testing.T) {
	anna, stranger := key(t), key(t)
	old := noon.Add(time.Second)
	signer := seal.Signer{Name: "anna", Key: anna.Public(), Facts: []events.Kind{events.KindInputClosed}}
	retired, others := signer, signer
	retired.Until, others.Facts = &old, []events.Kind{events.KindPlanEdited}
	for _, c := range []struct {
		what string
		list seal.Signers
		by   *seal.Key
		at   time.Time
		want string
	}{
		{"a signer", seal.Signers{Signers: []seal.Signer{signer}}, anna, noon, ""},
		{"a moment later", seal.Signers{Signers: []seal.Signer{signer}}, anna, noon.Add(seal.Slack), ""},
		{"much later", seal.Signers{Signers: []seal.Signer{signer}}, anna, noon.Add(seal.Slack + time.Second), "was signed at"},
		{"much earlier", seal.Signers{Signers: []seal.Signer{signer}}, anna, noon.Add(-seal.Slack - time.Second), "was signed at"},
		{"no signer", seal.Signers{Signers: []seal.Signer{signer}}, stranger, noon, "no signer"},
		{"a key before its end", seal.Signers{Signers: []seal.Signer{retired}}, anna, noon, ""},
		{"a key at its end", seal.Signers{Signers: []seal.Signer{retired}}, anna, old, "withdrawn"},
		{"another fact", seal.Signers{Signers: []seal.Signer{others}}, anna, noon, "may not sign"},
		{"a log that begins with the list", seal.Signers{Since: noon, Signers: nil}, stranger, noon, "no signer"},
		{"a log that is older", seal.Signers{Since: old, Signers: nil}, stranger, noon, ""},
	} {
		got := reason(c.list.Fact(sealed(t, c.by), events.KindInputClosed, c.at))
		if c.want == "" != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestAKeyAsksInItsNames(t *testing.T) {
	for _, c := range []struct {
		users       []string
		given, want string
		refused     bool
	}{
		{nil, "", "", false},
		{nil, "anna", "", true},
		{[]string{"anna"}, "", "anna", false},
		{[]string{"anna"}, "anna", "anna", false},
		{[]string{"anna"}, "boss", "", true},
		{[]string{seal.Any}, "boss", "boss", false},
		{[]string{seal.Any}, "", "", false},
	} {
		got, err := (&seal.Signer{Users: c.users}).Named(c.given)
		var fault *events.Fault
		if got != c.want || (err != nil) != c.refused || err != nil && (!errors.As(err, &fault) || fault.Code != events.CodeNotPermitted) {
			t.Errorf("%v names %q: %q, %v", c.users, c.given, got, err)
		}
	}
}

// asked is a request that was signed at noon for someone with some rights; nil has all.
func asked(t *testing.T, k *seal.Key, rights []string) *events.Message {
	t.Helper()
	m := &events.Message{Subject: "jobs.request", Header: map[string][]string{}, Body: []byte(`{}`)}
	if rights != nil {
		seal.Narrow(m.Header, rights)
	}
	musttest.Do(t, k.Seal(m, noon))
	return m
}

func TestARequestHasTheRightsThatWereLeftItAndItsKeyHas(t *testing.T) {
	gateway, ann := key(t), key(t)
	list := &seal.Signers{Signers: []seal.Signer{
		{Name: "gateway", Key: gateway.Public(), Users: []string{seal.Any}, Rights: []string{"admin"}}, {Name: "ann", Key: ann.Public(), Rights: []string{"submitter", "approver"}},
	}}
	for _, c := range []struct {
		by                 *seal.Key
		left               []string
		want, name, anyone string
	}{
		{gateway, nil, "admin", "gateway", "-"},
		{gateway, []string{"admin"}, "admin", "gateway", "admin"},
		{gateway, []string{"submitter"}, "submitter", "a user of gateway", "submitter"},
		{gateway, []string{"submitter", "operator"}, "submitter,operator", "a user of gateway", "submitter,operator"},
		{gateway, []string{}, "", "a user of gateway", ""},
		{ann, nil, "submitter,approver", "ann", "-"},
		{ann, []string{"approver", "submitter"}, "approver,submitter", "ann", "approver,submitter"},
		{ann, []string{"approver"}, "approver", "a user of ann", "approver"},
		{ann, []string{"admin", "operator"}, "", "a user of ann", "admin,operator"},
	} {
		m := asked(t, c.by, c.left)
		who, err := list.Of(m, noon)
		if err != nil || strings.Join(who.Rights, ",") != c.want || slices.Contains(who.Rights, "") || who.Name != c.name {
			t.Errorf("%q left to %s: %+v %v, want %q as %q", c.left, seal.Named(m), who, err, c.want, c.name)
		}
		anyone := "-"
		if who := seal.Anyone(m); who != nil {
			anyone = strings.Join(who.Rights, ",")
			if want := map[bool]string{true: "the gateway", false: "a user of the gateway"}[strings.Contains(c.anyone, "admin")]; who.Name != want || slices.Contains(who.Rights, "") {
				t.Errorf("%q left where no signature is required: %q of %q, want %q", c.left, who.Rights, who.Name, want)
			}
		}
		if anyone != c.anyone {
			t.Errorf("%q left where no signature is required: %q, want %q", c.left, anyone, c.anyone)
		}
	}
	if got := strings.Join(list.Signers[0].Rights, ","); got != "admin" {
		t.Errorf("the list says %q now", got)
	}
}

// Who passes a request on changes none of its rights; a service that knows nothing of them reads the signature of every release.
func TestTheSignatureCoversTheRightsInTheFormOfEveryRelease(t *testing.T) {
	k := key(t)
	list := &seal.Signers{Signers: []seal.Signer{{Name: "gateway", Key: k.Public(), Rights: []string{"admin"}}}}
	for what, change := range map[string]func(*events.Message){
		"taken out": func(m *events.Message) { delete(m.Header, events.HeaderType) },
		"more":      func(m *events.Message) { seal.Narrow(m.Header, []string{"submitter", "approver"}) },
		"others":    func(m *events.Message) { seal.Narrow(m.Header, []string{"admin"}) },
	} {
		m := asked(t, k, []string{"submitter"})
		change(m)
		if who, err := list.Of(m, noon); err == nil {
			t.Errorf("%s: %+v", what, who)
		}
	}
	m := asked(t, k, []string{"submitter"})
	parts := strings.Fields(m.Get(seal.Header))
	statement := "jobgraph seal v1\njobs.request\n\n" + m.Get(events.HeaderType) + "\n" + parts[2] + "\n44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	public := musttest.Get(nkeys.FromPublicKey(parts[1]))(t)
	signature, err := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil || parts[0] != "v1" || public.Verify([]byte(statement), signature) != nil {
		t.Errorf("%s does not sign %q (%v)", m.Get(seal.Header), statement, err)
	}
}

func TestAListIsReadStrictly(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"since":"2026-03-01T12:00:00Z","signers":[{"name":"a","key":"U","users":["*"],"facts":["*"]}]}`: true,
		`{"signers":[{"name":"a","key":"U","user":"*"}]}`:                                                 false, `[]`: false, ``: false,
	} {
		list, err := seal.Load([]byte(text))
		var fault *events.Fault
		if later := strings.Contains(text, `"user":`); later && (!errors.As(err, &fault) || !strings.Contains(fault.Hint, "upgrade this program")) {
			t.Errorf("a list with a key that is not known: %v", err)
		}
		if (err == nil) != ok || ok && !slices.Equal(list.Signers[0].Users, []string{seal.Any}) {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
}
