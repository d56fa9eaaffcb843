package access_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// few are the identities of a tenant with one runner, of pool a.
func few() []access.Identity {
	return slices.DeleteFunc(cast(), func(i access.Identity) bool { return i.Name == "runner-bc" })
}

// logging connects as an identity and records the log of the connection.
func (s *stage) logging(of *access.Tenant, name string) (*bus.Bus, *bytes.Buffer) {
	s.t.Helper()
	var log bytes.Buffer
	o := s.server.Options(name)
	o.NKey, o.Logger = s.seeds[of.Name+"/"+name], slog.New(slog.NewTextHandler(&log, nil))
	b := musttest.Get(bus.Connect(s.t.Context(), o))(s.t)
	s.t.Cleanup(b.Close)
	return b, &log
}

// With permissions of the release before, a runner's items are stored on the subject that the work names, and pieces for those who are there
// are left out: the first one is refused, and for a while no further one is sent.
func TestARunnerShowsItemsWithPermissionsOfTheReleaseBefore(t *testing.T) {
	s := playWith(t, func(accounts string) string {
		return strings.NewReplacer("jobs.item.*.*.a", "jobs.item.>", "jobs.live.*.*.a", "jobs.live.*.*").Replace(accounts)
	}, access.Tenant{Name: "jobgraph", Identities: few()})
	tenant := &s.tenants[0]
	admin := s.bus(tenant, "admin")
	a, log := s.logging(tenant, "runner-a")
	ack, err := a.Items().Confirm("j", "a", "a", []byte(`{"type":"text","id":"x","run":1,"text":"hello"}`))
	if err == nil {
		_, err = ack.Wait(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
	late := time.After(bound)
	for err = nil; err == nil; err = a.Items().Pass("j", "a", "a", []byte(`{}`)) {
		musttest.Do(t, a.Flush(t.Context()))
		select {
		case <-late:
			t.Fatal("the refusal of a piece is not noticed")
		default:
		}
	}
	if !errors.Is(err, bus.ErrNotPermitted) {
		t.Error(err)
	}
	for m, err := range admin.Items().Of(t.Context(), "j", "", 0) {
		if err != nil || m.Pool != "a" || len(m.Items) != 1 {
			t.Errorf("%+v, %v", m, err)
		}
	}
	a.Close()
	if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 5 {
		t.Errorf("the log of the runner: %s", log.String())
	}
}

// A runner of the release before publishes items on the subject without a pool. They are refused; what counts for a job is not.
func TestARunnerOfTheReleaseBeforeLosesItsItemsAndNothingElse(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: few()})
	tenant := &s.tenants[0]
	admin, runner := s.bus(tenant, "admin"), s.raw(tenant, "runner-a")
	n := admin.Names()
	for range 10 {
		for _, subject := range []string{item.LiveSubjects(n).SubJob("j", "a"), n.Live("j", "a")} {
			musttest.Do(t, runner.Publish(subject, []byte(`{"type":"text","id":"x"}`)))
		}
	}
	if !refused(t, runner) {
		t.Error("items without a pool are not refused")
	}
	for _, subject := range []string{n.JournalIn("j", "a", "a"), n.RunEventOf("j", events.KindSubJobReported, "a", 1, "a")} {
		if _, err := runner.Request(subject, []byte(`{}`), bound); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if info, err := admin.Streams().Info(t.Context(), item.LiveSubjects(n).Stream()); err != nil || info.Messages != 0 {
		t.Errorf("%d messages with items (%v)", info.Messages, err)
	}
}

// Items of a SubJob are on subjects with and without a pool. Someone outside the engine reads both, in order, as they come.
func TestSomeoneOutsideFollowsTheItemsOfASubJob(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: few()})
	tenant := &s.tenants[0]
	admin, viewer := s.bus(tenant, "admin"), s.signed(tenant, "viewer")
	n := item.LiveSubjects(admin.Names())
	say(t, admin, n.In("j", "b", "a"), `{"type":"text","id":"x","text":"of another"}`)
	say(t, admin, n.In("j", "a", "a"), `{"type":"text","id":"x","text":"first"}`)
	sub := musttest.Get(viewer.Items().Follow(t.Context(), "j", "a", 0))(t)
	defer sub.Stop()
	for _, want := range []string{"first", "second", "third"} {
		if pool := map[string]string{"third": "a"}[want]; want != "first" {
			say(t, admin, n.In("j", "b", "a"), `{"type":"text","id":"x","text":"of another"}`)
			say(t, admin, n.In("j", "a", pool), `{"type":"text","id":"x","text":"`+want+`"}`)
		}
		list, err := sub.Next(t.Context())
		if err != nil || len(list) != 1 || list[0].Items[0].Text != want {
			t.Fatalf("%+v %v, want %s", list, err, want)
		}
	}
}
