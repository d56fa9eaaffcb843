package stack_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// deciding is the card of an expert that asks a person.
func deciding(t *testing.T) string {
	t.Helper()
	card := filepath.Join(t.TempDir(), "decider.md")
	musttest.Do(t, os.WriteFile(card, []byte("---\nname: Decider\nkind: human\ndescription: Decides.\n---\nDecide.\n"), 0o600))
	return card
}

// attack is something that only someone else may do.
type attack struct {
	name string
	// on makes the victim; nil attacks no job.
	on func(*siege) victim
	// strike performs the attack.
	strike func(*hand, victim)
	// worked reports whether the attack took effect; by are the attackers who tried it.
	worked func(s *siege, v victim, by []*hand) bool
	// but are attackers who are allowed to do it, as docs/security.md says.
	but []string
}

func received(what string) func(*siege, victim, []*hand) bool {
	return func(_ *siege, v victim, by []*hand) bool {
		return slices.ContainsFunc(by, func(h *hand) bool { return h.received(strings.ReplaceAll(what, "{job}", v.job)) })
	}
}

func ended(s *siege, v victim, _ []*hand) bool { return s.status(v).Terminal() }

func answered(s *siege, v victim, _ []*hand) bool { return !s.asks(v) }

// quarantined reports whether the scheduler has given the job up.
func quarantined(s *siege, v victim, _ []*hand) bool {
	j, err := s.admin.Get(s.Context(), v.job)
	return err == nil && j.Quarantined != nil
}

// stored reports whether the last message on a subject is the forged one.
func stored(stream, subject string) func(*siege, victim, []*hand) bool {
	return func(s *siege, v victim, _ []*hand) bool {
		return strings.Contains(s.last(stream, strings.NewReplacer("{job}", v.job, "{pool}", v.pool).Replace(subject)), "forged")
	}
}

const payload = "a payload that is too large for an event: "

// attacks lists what a stranger on the bus might try.
func attacks() []attack {
	facts := []attack{
		{"a report", (*siege).queued, func(h *hand, v victim) {
			for _, pool := range []string{"", v.pool, "m"} {
				h.forge(events.Event{Kind: events.KindSubJobReported, Job: v.job, SubJob: v.subjob, Run: 1, Pool: pool, Data: &events.SubJobReported{Outcome: events.Success, Output: []byte(`"forged"`)}})
			}
		}, ended, nil},
		{"a question", (*siege).queued, func(h *hand, v victim) {
			for _, pool := range []string{"", v.pool, "m"} {
				h.forge(events.Event{Kind: events.KindInputRequested, Job: v.job, SubJob: v.subjob, Run: 1, Pool: pool, Data: &events.InputRequested{Request: "forged", Kind: events.InputClarification}})
			}
		}, func(s *siege, v victim, _ []*hand) bool { return s.status(v) == events.Waiting }, nil},
		{"an end", (*siege).queued, func(h *hand, v victim) {
			h.forge(events.Event{Kind: events.KindJobFinished, Job: v.job, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: []byte(`"forged"`)}})
		}, func(s *siege, v victim, _ []*hand) bool {
			e, err := s.admin.Bus().Log().LastOf(s.Context(), v.job, events.KindJobFinished)
			return err == nil && e.Seq > 0
		}, nil},
		{"an answer", (*siege).asking, func(h *hand, v victim) {
			h.forge(events.Event{Kind: events.KindInputClosed, Job: v.job, Key: v.request, Data: &events.InputClosed{Action: events.Answered, Answer: []byte(`"forged"`), By: "boss"}})
		}, answered, nil},
		{"a stop", (*siege).queued, func(h *hand, v victim) {
			h.forge(events.Event{Kind: events.KindStopRequested, Job: v.job, Data: &events.StopRequested{By: "boss"}})
		}, ended, nil},
		{"a plan", (*siege).queued, func(h *hand, v victim) {
			h.forge(events.Event{Kind: events.KindPlanEdited, Job: v.job, Data: &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "b", Goal: "forged", Expert: "shout-expert", Pool: "default"}}}}})
		}, func(s *siege, v victim, _ []*hand) bool {
			log, err := s.admin.Logs().Fold(s.Context(), v.job, 0)
			return err == nil && log.Node("b") != nil
		}, nil},
		{"an event that no scheduler understands", (*siege).queued, func(h *hand, v victim) {
			h.say(h.admin.Names().Control(v.job), `{}`, events.HeaderSpec, "1.0", events.HeaderID, "x", events.HeaderType, "io.jobgraph.doom.requested.v9")
		}, quarantined, nil},
		{"a fact of a run that no scheduler understands", (*siege).queued, func(h *hand, v victim) {
			for _, pool := range []string{"", v.pool, "m"} {
				for _, subjob := range []string{v.subjob, "gone"} {
					subject := h.admin.Names().RunEventOf(v.job, events.KindSubJobProgressed, subjob, 1, pool)
					h.say(subject, `{}`, events.HeaderSpec, "1.0", events.HeaderID, "x", events.HeaderType, "io.jobgraph.subjob.progressed.v9")
				}
			}
		}, quarantined, nil},
	}
	return slices.Concat(facts, verbs(), kept(), shown(), broker(), names())
}

// verbs are attacks by requests.
func verbs() []attack {
	return []attack{
		{"the answer of another user", (*siege).asking, func(h *hand, v victim) {
			if err := h.bus.Answer(h.Context(), v.job, v.request, "yes", "boss"); err == nil && h.layout != nil && !h.abroad() {
				h.Errorf("%s has answered", h.name)
			}
		}, answered, nil},
		{"the answer of another user, asked for by hand", (*siege).asking, func(h *hand, v victim) {
			h.say("jobs.api.answer", `{"id":"`+v.job+`","request":"`+v.request+`","answer":"yes","BY":"boss"}`)
		}, answered, nil},
		{"a message of another user", (*siege).asking, func(h *hand, v victim) {
			h.say("jobs.request", `{"goal":"yes","user":"boss","session":"`+v.session+`"}`)
			h.say("jobs.api.submit", `{"goal":"yes","user_id":"boss","session":"`+v.session+`"}`)
		}, answered, nil},
		{"a message of someone else with more rights than the gateway gave it", (*siege).approving, func(h *hand, v victim) {
			for _, rights := range [][]string{nil, {"approver"}} {
				m := v.message
				m.Header = maps.Clone(m.Header)
				if delete(m.Header, events.HeaderType); rights != nil {
					seal.Narrow(m.Header, rights)
				}
				h.send(m)
			}
			h.send(v.message)
		}, answered, nil},
		{"a job without the right to submit", nil, func(h *hand, _ victim) {
			h.say("jobs.request", `{"id":"`+h.job()+`","goal":"forged","expert":"Shout Expert"}`)
		}, func(s *siege, _ victim, by []*hand) bool {
			return slices.ContainsFunc(by, func(h *hand) bool {
				_, err := s.admin.Get(s.Context(), h.job())
				return err == nil
			})
		}, []string{"eve"}},
		{"the stop of another's job", (*siege).queued, func(h *hand, v victim) {
			_ = h.bus.Stop(h.Context(), v.job, events.StopRequested{By: "boss"}) // worked looks at the effect.
		}, ended, []string{"olga"}},
		{"a stop asked for by hand", (*siege).queued, func(h *hand, v victim) { h.say("jobs.api.stop", v.job) }, ended, []string{"olga"}},
		{"a cancellation", (*siege).queued, func(h *hand, v victim) { h.say(h.admin.Names().Cancel(v.job, ""), `{}`) }, func(s *siege, v victim, _ []*hand) bool {
			_, heard := s.ends.Load(v.job)
			return heard
		}, nil},
	}
}

// kept are attacks on stored values.
func kept() []attack {
	name := func(v victim) string {
		return base64.URLEncoding.EncodeToString([]byte(v.job + "/" + v.request))
	}
	return []attack{
		{"a card", (*siege).unheard, func(h *hand, v victim) {
			card := fmt.Sprintf(`{"id":%q,"name":%q,"description":"forged","pool":"m"}`, v.pool, v.pool)
			h.say("$KV.JOBS_EXPERTS."+v.pool, card)
			for _, pool := range []string{"m", v.pool} {
				request, _ := json.Marshal(map[string]any{"op": "put", "value": []byte(card)}) // The value can be encoded.
				h.say("jobs.card."+pool+"."+v.pool, string(request))
			}
		}, stored("KV_JOBS_EXPERTS", "$KV.JOBS_EXPERTS.{pool}"), nil},
		{"a base of knowledge", nil, func(h *hand, _ victim) {
			h.say("$KV.JOBS_MEMORY.base.handbook", "forged")
			request, _ := json.Marshal(map[string]any{"op": "put", "value": []byte("forged")}) // The value can be encoded.
			h.say("jobs.keep.JOBS_MEMORY.base.handbook", string(request))
		}, stored("KV_JOBS_MEMORY", "$KV.JOBS_MEMORY.base.handbook"), nil},
		{"documents in the bases of others", (*siege).chatting, func(h *hand, v victim) {
			for _, base := range []string{"~u~boss", "~k~" + bus.SessionKey(v.session), "~b~handbook"} {
				_, _ = h.bus.Bus().Blobs().Put(h.Context(), base, []byte("forged by "+h.name+" for "+base)) // worked looks at the effect.
			}
		}, func(s *siege, v victim, _ []*hand) bool {
			return s.documents(bases.User, "boss")+s.documents(bases.Session, v.session)+s.documents(bases.Global, "handbook") > 0
		}, nil},
		{"what an expert remembers", nil, func(h *hand, _ victim) {
			const key = "fact.boss.shout-expert"
			h.say("$KV.JOBS_MEMORY."+key, "forged")
			request := map[string]any{"op": "put", "value": []byte("forged")}
			body, _ := json.Marshal(request) // The value can be encoded.
			h.say("jobs.keep.JOBS_MEMORY."+key, string(body))
			request["op"], request["key"] = "facts", key
			body, _ = json.Marshal(request)
			for _, card := range []string{"m.shout-expert", "default.shout-expert", "m.other"} {
				h.say("jobs.card."+card, string(body))
			}
		}, stored("KV_JOBS_MEMORY", "$KV.JOBS_MEMORY.fact.boss.shout-expert"), nil},
		{"the id by which a remote agent knows a session", (*siege).chatting, func(h *hand, v victim) {
			key, forged := bus.ContextKey(v.session), []byte(`{"shout-expert":"forged"}`)
			h.say("$KV.JOBS_SESSIONS."+key, string(forged))
			request, _ := json.Marshal(map[string]any{"op": "put", "value": forged}) // The value can be encoded.
			h.say("jobs.keep.JOBS_SESSIONS."+key, string(request))
			request, _ = json.Marshal(map[string]any{"op": "context", "key": v.session, "value": []byte("forged")})
			for _, card := range []string{"m.shout-expert", "default.shout-expert"} {
				h.say("jobs.card."+card, string(request))
			}
		}, func(s *siege, v victim, _ []*hand) bool {
			id, err := s.admin.Bus().RemoteContext(s.Context(), v.session, "shout-expert")
			return err != nil || id == "forged"
		}, nil},
		{"a record of a journal", (*siege).queued, func(h *hand, v victim) { record(h, v, claims, closes) }, func(s *siege, v victim, _ []*hand) bool {
			return len(s.journal(v)) > 0
		}, nil},
		{"the record of a call of a run to come", (*siege).coming, func(h *hand, v victim) { record(h, v, called) }, func(s *siege, v victim, _ []*hand) bool {
			return strings.Contains(s.played(v), "forged")
		}, nil},
		{"a dead letter", nil, func(h *hand, _ victim) { h.say("jobs.dlq.fact.1", "forged") }, stored("JOBS_DLQ", "jobs.dlq.fact.1"), nil},
		{"a flood of dead letters", (*siege).hopeless, drown, func(s *siege, v victim, _ []*hand) bool { return s.last("JOBS_DLQ", v.request) == "" }, nil},
		{"a saved state", (*siege).queued, func(h *hand, v victim) { h.say("$KV.JOBS_STATE."+v.job, `{"status":"FINISHED","result":"forged"}`) }, stored("KV_JOBS_STATE", "$KV.JOBS_STATE.{job}"), nil},
		{"the deletion of a state", (*siege).queued, func(h *hand, v victim) { h.say("$KV.JOBS_STATE."+v.job, "forged", "KV-Operation", "DEL") }, stored("KV_JOBS_STATE", "$KV.JOBS_STATE.{job}"), nil},
		{"a payload", (*siege).payload, func(h *hand, v victim) {
			h.say("$JS.API.STREAM.PURGE.OBJ_JOBS_BLOBS", `{"filter":"$O.JOBS_BLOBS.M.`+name(v)+`"}`)
			h.say("$O.JOBS_BLOBS.M."+name(v), `{"name":"`+v.job+"/"+v.request+`","bucket":"JOBS_BLOBS","nuid":"forged","size":6,"chunks":1}`)
			h.say("$O.JOBS_BLOBS.M."+name(v), "", "Nats-Rollup", "sub")
		}, func(s *siege, v victim, _ []*hand) bool {
			data, err := s.admin.Bus().Blobs().Get(s.Context(), v.job, v.request)
			return err != nil || !strings.HasPrefix(string(data), payload)
		}, nil},
		{"an export", (*siege).payload, func(h *hand, v victim) {
			h.say("$O.JOBS_BLOBS.C."+v.job+".c0ffee.x", "forged")
			h.say("$O.JOBS_BLOBS.M."+base64.URLEncoding.EncodeToString([]byte(v.job+"/c0ffee")), `{"nuid":"`+v.job+`.c0ffee.x","size":6,"chunks":1}`)
			h.say("$JS.API.STREAM.PURGE."+"OBJ_JOBS_BLOBS", `{"filter":"`+("$O.JOBS_BLOBS.C."+v.job+"."+v.request+".>")+`"}`)
		}, func(s *siege, v victim, _ []*hand) bool {
			x, err := s.admin.Archive().Export(s.Context(), v.job, time.Now())
			return err != nil || len(x.Blobs) == 0
		}, nil},
		{"a flood", nil, flood, func(s *siege, _ victim, _ []*hand) bool {
			n := s.admin.Names()
			return s.last(n.Log, n.JobEvents("flood"))+s.last(n.Work, n.PoolWork("flood"))+s.last(n.Timers, n.JobTimers("flood"))+s.last("JOBS_CONVERSATIONS", "jobs.conversation.flood") != ""
		}, nil},
	}
}

// Forged records of a journal.
const (
	claims = `{"type":"claimed","run":1,"owner":"forged","lease":"10m"}`
	called = `{"type":"result","run":1,"owner":"forged","key":"command","name":"command","data":"forged"}`
	closes = `{"type":"closed","run":1,"reason":"forged"}`
)

// record writes records into the journal of a SubJob: on the subject without a pool, on that of the pool of its runs, and on that
// of another pool.
func record(h *hand, v victim, records ...string) {
	for _, pool := range []string{"", v.pool, "m"} {
		for _, r := range records {
			h.say(h.admin.Names().JournalIn(v.job, v.subjob, pool), r)
		}
	}
}

// flood sends many messages on the subjects of streams.
func flood(h *hand, _ victim) {
	n := h.admin.Names()
	for i := range 500 {
		h.say(n.Event("flood", events.KindTimerFired, strconv.Itoa(i)), "{}")
		h.say(n.WorkFor("flood", "x", "flood", "a", i+1), "{}")
		h.say(n.Timer("flood", strconv.Itoa(i)), "{}")
		h.say("jobs.conversation.flood", "{}")
	}
}

// drown sets more work aside than is kept.
func drown(h *hand, _ victim) {
	const most = 1100
	for i := range most {
		h.say(fmt.Sprintf("jobs.dlq.work.%d.m", i+1), "{}")
	}
	if h.name == "mallory" { // A scheduler stores what he sets aside.
		for i := range most {
			h.say("jobs.card.m.~aside", fmt.Sprintf(`{"op":"aside","aside":{"subject":"jobs.work.m.x","seq":%d}}`, i+1))
		}
		h.until("the answers of schedulers", func() bool {
			n, _, err := h.loot.Pending()
			return err != nil || n >= most
		})
	}
}

// takeIDs publishes work with the message ids that work of a job to come may have, and settles it. All of it must be gone before the job
// begins: a scheduler compares its work with the message that has the same id, as long as that exists, and publishes it under another id.
func takeIDs(h *hand, v victim) {
	n := h.admin.Names()
	log := musttest.Get(h.admin.Bus().Streams().Info(h.Context(), n.Log))(h)
	for ahead := range uint64(50) {
		h.say(n.WorkFor("m", "x", "x", "a", 1), "{}", events.HeaderMsgID, run.WorkID(incarnation.ID(v.job, log.LastSeq+ahead), v.subjob, 1))
	}
	h.arrive(n.WorkFor("sync", "x", v.job, "sync", 1))
	if h.last(n.Work, n.PoolWork("m")) != "" {
		h.drain("m")
	}
}

// arrive returns when all work that the attacker has published is stored or refused: a stream stores messages in the order in which they
// reach the server. It publishes work on a subject, and removes it.
func (h *hand) arrive(subject string) {
	h.Helper()
	err := h.nc.Flush()
	if err == nil {
		_, err = h.admin.Bus().Publish(h.Context(), events.Message{Subject: subject, Body: []byte("{}")}, bus.ExpectNone())
	}
	if err == nil {
		err = h.admin.Bus().Streams().Purge(h.Context(), h.admin.Names().Work, subject)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// drain takes and settles all work of a pool, if the attacker may.
func (h *hand) drain(pool string) {
	h.Helper()
	q := h.bus.Bus().Queues()
	if q.EnsurePool(h.Context(), pool) != nil {
		return
	}
	sub, err := q.Consume(h.Context(), q.PoolConsumer(pool))
	if err != nil {
		return
	}
	defer sub.Stop()
	n := h.admin.Names()
	h.until("the end of the work of "+pool, func() bool {
		ctx, cancel := context.WithTimeout(h.Context(), 50*time.Millisecond)
		defer cancel()
		list, _ := sub.Next(ctx, 50) // What has not come yet comes the next time.
		for i := range list {
			musttest.Do(h, list[i].Ack())
		}
		return h.last(n.Work, n.PoolWork(pool)) == ""
	})
}

// settle settles the work of a pool in the name of another pool's consumer, in every form that a server takes: the subject of a settlement
// names the consumer, and any sequence. The consumer must have passed that sequence.
func settle(h *hand, v victim) {
	n := h.admin.Names()
	m, err := h.admin.Bus().Streams().LastOn(h.Context(), n.Work, workOf(v))
	if err != nil {
		return // Another attacker has removed it.
	}
	q := h.bus.Bus().Queues()
	if !h.abroad() && q.EnsurePool(h.Context(), "m") == nil {
		h.say("$JS.API.CONSUMER.MSG.NEXT.JOBS_WORK.pool-m", `{"batch":10,"expires":60000000000}`)
		h.until("the consumer passes the work", func() bool {
			queue, err := h.admin.Bus().Queues().Info(h.Context(), n.Work, "pool-m")
			return err == nil && queue.Seen >= m.Seq
		})
	}
	for _, of := range []string{"$JS.ACK.JOBS_WORK.pool-m", "$JS.ACK._.hash.JOBS_WORK.pool-m"} {
		for _, what := range []string{"", "+ACK", "+TERM", "-NAK", "+WPI", "+NXT"} {
			h.say(fmt.Sprintf("%s.1.%d.1.%d.0", of, m.Seq, time.Now().UnixNano()), what)
			h.say(fmt.Sprintf("%s.1.%d.1.%d.0.x", of, m.Seq, time.Now().UnixNano()), what)
		}
	}
}

// broker are attacks through the protocol of the server.
func broker() []attack {
	const api = "$JS.API."
	return []attack{
		{"the work of a pool", (*siege).queued, func(h *hand, v victim) {
			h.say(api+"CONSUMER.MSG.NEXT.JOBS_WORK.pool-"+v.pool, `{"batch":10,"expires":5000000000}`)
		}, received(".{job}.a."), nil},
		{"the message id of another pool's work", (*siege).unserved, takeIDs, func(s *siege, v victim, _ []*hand) bool {
			s.wait(v)
			s.passed()
			return s.last("JOBS_WORK", workOf(v)) == ""
		}, nil},
		{"the work of a pool without a reader", (*siege).unread, settle, func(s *siege, v victim, _ []*hand) bool {
			return s.last("JOBS_WORK", workOf(v)) == ""
		}, nil},
		{"work for a pool", nil, func(h *hand, _ victim) { h.say("jobs.work.default.shout-expert.forged.a.1", "{}") }, received(`"stream":"JOBS_WORK"`), nil},
		{"the log of a job, from elsewhere", (*siege).queued, func(h *hand, v victim) {
			h.say(api+"DIRECT.GET.JOBS", `{"last_by_subj":"`+h.admin.Names().Event(v.job, events.KindJobRequested)+`"}`)
		}, received("\"goal\":\"wait\""), []string{"eve", "olga", "viewer", "mallory"}},
		{"a consumer that delivers into the log", nil, func(h *hand, _ victim) {
			h.say(api+"CONSUMER.CREATE.JOBS_JOURNAL.forged", `{"stream_name":"JOBS_JOURNAL","config":{"name":"forged","durable_name":"forged","deliver_subject":"jobs.event.1.forged.job.finished","ack_policy":"none"}}`)
		}, received(`"name":"forged"`), nil},
		{"a purge", (*siege).queued, func(h *hand, v victim) {
			h.say(api+"STREAM.PURGE.JOBS", `{"filter":"`+h.admin.Names().JobEvents(v.job)+`"}`)
		}, func(s *siege, v victim, _ []*hand) bool {
			return s.last("JOBS", s.admin.Names().JobEvents(v.job)) == ""
		}, nil},
		{"a change of a stream", nil, func(h *hand, _ victim) {
			h.say(api+"STREAM.UPDATE.JOBS_DLQ", `{"name":"JOBS_DLQ","subjects":["jobs.dlq.>"],"retention":"limits","storage":"file","num_replicas":1,"max_msgs":7,"allow_direct":true,"max_consumers":-1}`)
		}, received(`"max_msgs":7,`), nil},
		{"the end of a stream", nil, func(h *hand, _ victim) { h.say(api+"STREAM.DELETE.JOBS_LIVE", "") }, func(s *siege, _ victim, _ []*hand) bool {
			_, err := s.admin.Bus().Streams().Info(s.Context(), "JOBS_LIVE")
			return err != nil
		}, nil},
	}
}

// names are attacks by names that others have. They leave work in the pool of an attacker.
func names() []attack {
	return []attack{
		{"the name of an expert", (*siege).famous, func(h *hand, v victim) {
			card := fmt.Sprintf(`{"id":"a-%s","name":%q,"description":"forged","kind":"command","pool":"m"}`, v.pool, v.request)
			h.say("$KV.JOBS_EXPERTS.a-"+v.pool, card)
			request, _ := json.Marshal(map[string]any{"op": "put", "value": []byte(card)}) // The value can be encoded.
			h.say("jobs.card.m.a-"+v.pool, string(request))
		}, func(s *siege, v victim, _ []*hand) bool {
			of, _ := s.begin(events.Request{Goal: "wait", Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"wait","expert":"` + v.request + `"}]}`)}, events.KindGraphCreated)
			log, err := s.admin.Logs().Fold(s.Context(), of.job, 0)
			return err == nil && log.Node("a").Pool == "m"
		}, nil},
	}
}

// payload returns a job of the boss with a payload, whose digest is in request.
func (s *siege) payload() victim {
	v := s.queued()
	ref := musttest.Get(s.admin.Bus().Blobs().Put(s.Context(), v.job, []byte(payload+strings.Repeat("x", 100))))(s)
	v.request = ref.Digest
	return v
}

// TestAStrangerChangesNothingWithRoles tries each attack without roles, where it takes effect, which proves that it is an attack;
// and with roles, where it takes no effect for any attacker.
func TestAStrangerChangesNothingWithRoles(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*testing.T) *siege
	}{{"without roles", func(t *testing.T) *siege {
		t.Helper()
		return villageIn(t, unset, "127.0.0.1:0")
	}}, {"with roles", castle}} {
		t.Run(c.name, func(t *testing.T) {
			s := c.make(t)
			s.hear()
			for _, a := range attacks() {
				var v victim
				if a.on != nil {
					v = a.on(s)
				}
				names := []string{"eve"}
				if s.layout != nil {
					names = []string{"eve", "olga", "viewer", "mallory", "other/client", "other/admin"}
				}
				var by []*hand
				for _, name := range names {
					if s.layout == nil || !slices.Contains(a.but, name) {
						by = append(by, s.attacker(name))
					}
				}
				for _, h := range by {
					a.strike(h, v)
					musttest.Do(t, h.nc.Flush())
				}
				if s.layout == nil {
					s.until(a.name+" takes effect", func() bool { return a.worked(s, v, by) })
				} else if s.passed(); a.worked(s, v, by) {
					t.Errorf("%s has taken effect", a.name)
				}
			}
		})
	}
}
