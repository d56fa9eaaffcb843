package access_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The headers that a forger replaces, and what it sends in their place, which has the same length.
const (
	plainEnd, forgedEnd       = "NATS/1.0\r\nForged: xxxxxxxx", "NATS/1.0\r\nStatus: 404\r\n\r\nx"
	plainBroken, forgedBroken = "NATS/1.0\r\nBroken: xxxxxxxx", "NATS/1.0\r\nBroken  xxxxxxxx"
)

// forger connects to a server and sends headers that no client of NATS writes. What the server adds to them later is behind their end, or is
// lost with them.
type forger struct{ server nats.InProcessConnProvider }

// forging is a connection of a forger.
type forging struct{ net.Conn }

// InProcessConn implements nats.InProcessConnProvider.
func (f forger) InProcessConn() (net.Conn, error) {
	conn, err := f.server.InProcessConn()
	return forging{conn}, err
}

// Write implements net.Conn.
func (f forging) Write(b []byte) (int, error) {
	b = bytes.ReplaceAll(b, []byte(plainEnd), []byte(forgedEnd))
	return f.Conn.Write(bytes.ReplaceAll(b, []byte(plainBroken), []byte(forgedBroken)))
}

// forge publishes two messages with such headers as an identity.
func (s *stage) forge(of *access.Tenant, name, subject string) {
	s.t.Helper()
	pair := musttest.Get(nkeys.FromSeed([]byte(s.seeds[of.Name+"/"+name])))(s.t)
	public := musttest.Get(pair.PublicKey())(s.t)
	nc := musttest.Get(nats.Connect("", nats.InProcessServer(forger{s.server}), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX_"+name)))(s.t)
	defer nc.Close()
	for _, header := range []string{"Forged", "Broken"} {
		musttest.Get(nc.RequestMsg(&nats.Msg{Subject: subject, Header: nats.Header{header: {"xxxxxxxx"}}}, bound))(s.t)
	}
}

// A message whose header looks like the end of a batch, or like nothing, is one of those that a reader gets.
func TestNoHeaderKeepsLaterMessagesFromWhoFollowsAStream(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin, viewer := s.bus(tenant, "admin"), s.bus(tenant, "viewer")
	n := admin.Names()
	sub := musttest.Get(viewer.Log().Follow(t.Context(), n.JobEvents("j"), bus.FollowOptions{}))(t)
	defer sub.Stop()
	s.forge(tenant, "runner-a", n.RunEventOf("j", events.KindSubJobProgressed, "s", 1, "a"))
	say(t, admin, n.Event("j", events.KindJobFinished), "later")
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for seen, last := 0, ""; last != "later"; {
		list := musttest.Get(sub.Next(ctx, 10))(t)
		for i := range list {
			last = string(list[i].Message().Body)
		}
		if seen += len(list); last == "later" && seen != 3 {
			t.Errorf("%d messages, want 3", seen)
		}
	}
}

// A false description of a payload comes first, then two with such headers, then the true one.
func TestNoHeaderHidesThatAPayloadHasOtherDescriptions(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	writer, reader := s.signed(tenant, "client"), s.signed(tenant, "viewer")
	data := []byte("the payload")
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	subject := "$O.JOBS_BLOBS.M." + base64.URLEncoding.EncodeToString([]byte("j/"+digest))
	say(t, s.bus(tenant, "runner-a"), subject, `{"nuid":"false","size":6,"chunks":1}`)
	s.forge(tenant, "runner-a", subject)
	musttest.Get(writer.Blobs().Put(t.Context(), "j", data))(t)
	var got bytes.Buffer
	if err := reader.Blobs().GetTo(t.Context(), "j", digest, &got); err != nil || got.String() != string(data) {
		t.Errorf("%q, %v", got.String(), err)
	}
}
