package access_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

func random(size int) []byte {
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// spoiler is someone who may store payloads and attacks one of a job.
type spoiler struct {
	t           *testing.T
	bus         *bus.Bus
	job, digest string
	size        int
}

func (s *spoiler) meta() string {
	return "$O.JOBS_BLOBS.M." + base64.URLEncoding.EncodeToString([]byte(s.job+"/"+s.digest))
}

func (s *spoiler) chunks() string { return "$O.JOBS_BLOBS.C." + s.job + "." + s.digest + "." }

// description is one by sequences of chunks on a subject.
func (s *spoiler) description(nuid string, seqs ...uint64) []byte {
	s.t.Helper()
	return musttest.JSON(s.t, map[string]any{
		"name": s.job + "/" + s.digest, "bucket": "JOBS_BLOBS", "nuid": nuid, "size": s.size, "chunks": max(len(seqs), 1),
		"metadata": map[string]string{"chunks": strings.Trim(strings.ReplaceAll(fmt.Sprint(seqs), " ", ","), "[]")},
	})
}

// describe stores a description.
func (s *spoiler) describe(nuid string, seqs ...uint64) {
	s.t.Helper()
	say(s.t, s.bus, s.meta(), string(s.description(nuid, seqs...)))
}

// forge stores a message with the name of a signer who has not signed it.
func forge(t *testing.T, nc *nats.Conn, key, subject string, text []byte) {
	t.Helper()
	m := &nats.Msg{Subject: subject, Data: text, Header: nats.Header{seal.Header: {"v1 " + key + " 0 forged"}}}
	if ack, err := nc.RequestMsg(m, bound); err != nil || bytes.Contains(ack.Data, []byte("error")) {
		t.Fatal(err, ack)
	}
}

// source is a payload that is stored, which tells when its second reading, the one that is sent, goes on.
type source struct {
	*bytes.Reader
	again bool
	sent  func(total int64)
}

func (r *source) Seek(offset int64, whence int) (int64, error) {
	r.again = r.again || whence == io.SeekStart
	return r.Reader.Seek(offset, whence)
}

func (r *source) Read(p []byte) (int, error) {
	if total := r.Size() - int64(r.Len()); r.again && total > 0 {
		r.sent(total)
	}
	return r.Reader.Read(p)
}

// TestNoOneSpoilsAPayloadWhileItIsStored has a runner and a client attack the payload of another while it is stored, at each chunk and as
// fast as they can.
func TestNoOneSpoilsAPayloadWhileItIsStored(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	musttest.Do(t, s.signed(tenant, "admin").Streams().Demand(t.Context(), true))
	viewer := s.signed(tenant, "viewer")
	for _, writer := range []string{"scheduler", "runner-bc", "anna"} {
		data := random(600_000 + len(writer))
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		b := s.signed(tenant, writer)
		var attackers []*spoiler
		for _, name := range []string{"runner-a", "client"} {
			attackers = append(attackers, &spoiler{t, s.signed(tenant, name), "j-" + writer, digest, len(data)})
		}
		ear := s.raw(tenant, "admin")
		heard, err := ear.SubscribeSync(attackers[0].chunks() + ">")
		if err != nil || refused(t, ear) {
			t.Fatal(err)
		}
		subject := ""
		var floods sync.WaitGroup
		over := make(chan struct{})
		from := &source{Reader: bytes.NewReader(data)}
		from.sent = func(int64) {
			if subject == "" {
				m, err := heard.NextMsg(bound)
				if err != nil {
					t.Fatal("no chunk has come:", err)
				}
				subject = m.Subject
				for _, a := range attackers {
					floods.Go(func() {
						for range 300 {
							select {
							case <-over:
								return
							default:
								a.bus.PublishAsync(events.Message{Subject: a.meta(), Body: []byte(`{"nuid":"none","size":1,"chunks":1}`)}, bus.Expect{})
							}
						}
					})
				}
			}
			for _, a := range attackers {
				at := say(a.t, a.bus, subject, "foreign")
				nuid := strings.TrimPrefix(subject, "$O.JOBS_BLOBS.C.")
				a.describe(nuid, at)
				a.describe(nuid, 1, 2)
				a.describe("other", at)
				say(a.t, a.bus, a.meta(), fmt.Sprintf(`{"nuid":%q,"size":%d,"chunks":2}`, nuid, a.size))
				say(a.t, a.bus, a.meta(), `{"deleted":true}`)
			}
		}
		ref, err := b.Blobs().PutFrom(t.Context(), attackers[0].job, from)
		close(over)
		floods.Wait()
		if err != nil {
			t.Fatal(writer, "stores nothing:", err)
		}
		for _, reader := range []*bus.Bus{viewer, b} {
			got, err := reader.Blobs().Get(t.Context(), attackers[0].job, ref.Digest)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes came back: %v", writer, len(got), err)
			}
			var out bytes.Buffer
			if err := reader.Blobs().GetTo(t.Context(), attackers[0].job, ref.Digest, &out); err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%s: %d bytes were written: %v", writer, out.Len(), err)
			}
		}
		js := musttest.Get(jetstream.New(ear))(t)
		sub := musttest.Get(js.OrderedConsumer(t.Context(), "OBJ_JOBS_BLOBS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}}))(t)
		var all []byte
		list := musttest.Get(sub.FetchNoWait(1000))(t)
		for m := range list.Messages() {
			all = append(all, m.Data()...)
		}
		if bytes.Equal(all, data) {
			t.Errorf("%s: a reader who takes every chunk on the subject gets the payload, so nothing attacked it", writer)
		}
	}
}

// TestAPayloadStaysThatSomeoneElseHasDescribed has a client describe a payload truly before its writer does: by chunks of another job, which
// go with that job, also as if they were of this one, and by the first chunk of the writer and the rest of its own.
func TestAPayloadStaysThatSomeoneElseHasDescribed(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin, writer, client := s.signed(tenant, "admin"), s.signed(tenant, "scheduler"), s.signed(tenant, "client")
	const first = 128 << 10
	for _, job := range []string{"foreign", "hidden", "joint"} {
		data := random(200_000)
		a := &spoiler{t, client, job, fmt.Sprintf("%x", sha256.Sum256(data)), len(data)}
		if evil := "evil." + a.digest + ".x"; job != "joint" {
			seqs := []uint64{say(t, client, "$O.JOBS_BLOBS.C."+evil, string(data[:first])), say(t, client, "$O.JOBS_BLOBS.C."+evil, string(data[first:]))}
			a.describe(map[string]string{"foreign": evil, "hidden": job + "." + a.digest + ".x"}[job], seqs...)
		}
		ear := s.raw(tenant, "admin")
		heard, err := ear.SubscribeSync(a.chunks() + ">")
		if err != nil || refused(t, ear) {
			t.Fatal(err)
		}
		from := &source{Reader: bytes.NewReader(data), sent: func(int64) {
			m := musttest.Get(heard.NextMsg(bound))(t)
			if job == "joint" {
				rest := say(t, client, m.Subject, string(data[first:]))
				a.describe(strings.TrimPrefix(m.Subject, "$O.JOBS_BLOBS.C."), rest-1, rest)
			}
		}}
		musttest.Get(writer.Blobs().PutFrom(t.Context(), job, from))(t)
		if !from.again {
			t.Errorf("%s: the writer has stored nothing", job)
		}
		musttest.Do(t, admin.Blobs().Delete(t.Context(), "evil"))
		if got, err := client.Blobs().Get(t.Context(), job, a.digest); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back: %v", job, len(got), err)
		}
	}
}

// TestADescriptionThatOnlySaysWhoSignedItIsOneOfNoOne stores a true description with the name of a signer who has not signed it.
func TestADescriptionThatOnlySaysWhoSignedItIsOneOfNoOne(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	data := random(1000)
	a := &spoiler{t, s.signed(tenant, "client"), "j1", fmt.Sprintf("%x", sha256.Sum256(data)), len(data)}
	a.describe("false", 1)
	at := say(t, a.bus, a.chunks()+"x", string(data))
	forge(t, s.raw(tenant, "client"), tenant.Signers().Signers[0].Key, a.meta(), a.description(strings.TrimPrefix(a.chunks()+"x", "$O.JOBS_BLOBS.C."), at))
	got, err := s.signed(tenant, "viewer").Blobs().Get(t.Context(), a.job, a.digest)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back: %v", len(got), err)
	}
}

// TestFalseDescriptionsDelayAPayloadByOneAttemptPerSigner stores many false descriptions before the true one, also some that name its signer,
// and counts the false chunks that are read for a payload; without the list of signers, all of them are.
func TestFalseDescriptionsDelayAPayloadByOneAttemptPerSigner(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	data := random(100 << 10)
	const job, each = "j1", 60
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	writer := s.signed(tenant, "runner-bc")
	self, ok := writer.Self()
	if !ok {
		t.Fatal("the writer is no signer")
	}
	var foreign []uint64
	for _, name := range []string{"runner-a", "client"} {
		a := &spoiler{t, s.signed(tenant, name), job, digest, len(data)}
		at := say(t, a.bus, a.chunks()+name, "foreign")
		foreign = append(foreign, at)
		for range each {
			a.describe(job+"."+digest+"."+name, at)
			forge(t, s.raw(tenant, name), self.Key, a.meta(), a.description(job+"."+digest+"."+name, at))
		}
	}
	musttest.Get(writer.Blobs().Put(t.Context(), job, data))(t)
	for _, c := range []struct {
		reader      *bus.Bus
		least, most int
	}{{s.signed(tenant, "viewer"), 1, 8}, {s.bus(tenant, "viewer"), 4 * each, 4 * each}} {
		ear := s.raw(tenant, "admin")
		heard, err := ear.SubscribeSync("$JS.API.DIRECT.GET.OBJ_JOBS_BLOBS")
		if err != nil || refused(t, ear) {
			t.Fatal(err)
		}
		got, err := c.reader.Blobs().Get(t.Context(), job, digest)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back: %v", len(got), err)
		}
		musttest.Do(t, ear.Publish("$JS.API.DIRECT.GET.OBJ_JOBS_BLOBS", []byte(`"the end"`)))
		read := 0
		for {
			m := musttest.Get(heard.NextMsg(bound))(t)
			if string(m.Data) == `"the end"` {
				break
			}
			var asked struct {
				Seq  uint64 `json:"seq"`
				Next string `json:"next_by_subj"`
			}
			if musttest.Decode(t, m.Data, &asked); asked.Next == "" && slices.Contains(foreign, asked.Seq) {
				read++
			}
		}
		if read < c.least || read > c.most {
			t.Errorf("%d false chunks were read, want %d to %d", read, c.least, c.most)
		}
	}
}
