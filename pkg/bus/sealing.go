package bus

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// lookEvery is the time between two checks of a file for changes.
const lookEvery = time.Second

// sealing signs what a connection sends and checks the signatures of what it reads. It is safe for concurrent use.
type sealing struct {
	keys, lists string
	logger      func(what string, err error)

	mu       sync.Mutex // Guards the fields below.
	key      *seal.Key
	keyFile  seen
	list     *seal.Signers
	listFile seen
}

// seen is a file as it was last read, to notice changes.
type seen struct {
	info fs.FileInfo
	at   time.Time
}

// changed reports whether a file differs from the one that was read; it checks at most once in lookEvery.
func (s *seen) changed(path string) bool {
	now := time.Now()
	if now.Sub(s.at) < lookEvery {
		return false
	}
	s.at = now
	info, err := os.Stat(path)
	if err != nil || s.info != nil && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size() && os.SameFile(info, s.info) {
		return false
	}
	s.info = info
	return true
}

// newSealing reads the key and the list of a connection.
func newSealing(o *Options) (*sealing, error) {
	s := &sealing{keys: o.Creds, lists: o.Signers, logger: func(what string, err error) { o.Logger.Warn(what, "error", err) }}
	var err error
	switch {
	case isSeed(o.NKey):
		s.key, err = seal.Read([]byte(o.NKey))
	case o.NKey != "":
		s.keys = o.NKey
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotPermitted, err)
	}
	if s.keys != "" && s.keyFile.changed(s.keys) {
		if err := s.readKey(); err != nil && o.Creds == "" { // Credentials need not contain a seed that can sign.
			return nil, fmt.Errorf("%w: %v", ErrNotPermitted, err)
		}
	}
	if s.lists == "" {
		return s, nil
	}
	s.listFile.changed(s.lists)
	if err := s.readList(); err != nil {
		return nil, err
	}
	return s, nil
}

// isSeed reports whether a value is a seed and not the path of one.
func isSeed(nkey string) bool {
	return strings.HasPrefix(nkey, "SU") && !strings.ContainsAny(nkey, "./\\")
}

func (s *sealing) readKey() error {
	text, err := os.ReadFile(s.keys)
	if err != nil {
		return err
	}
	key, err := seal.Read(text)
	if err == nil {
		s.key = key
	}
	return err
}

func (s *sealing) readList() error {
	text, err := os.ReadFile(s.lists)
	if err != nil {
		return &events.Fault{Code: events.CodeInvalid, Field: "signers", Message: "the list of signers cannot be read", Cause: err.Error(), Hint: "check the path and its permissions"}
	}
	list, err := seal.Load(text)
	if err == nil {
		s.list = list
	}
	return err
}

// signing returns the key of the connection, or nil.
func (s *sealing) signing() *seal.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != "" && s.keyFile.changed(s.keys) {
		if err := s.readKey(); err != nil && s.key != nil {
			s.logger("keeping the key that is in use", err)
		}
	}
	return s.key
}

// signers returns the list of signers, or nil.
func (s *sealing) signers() *seal.Signers {
	if s.lists == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listFile.changed(s.lists) {
		if err := s.readList(); err != nil {
			s.logger("keeping the list of signers that is in use", err)
		}
	}
	return s.list
}

// seal signs a message that needs it, if the connection has a key.
func (s *sealing) seal(n events.Names, m *events.Message) error {
	if s.keys == "" && s.key == nil || !signed(n, m.Subject) {
		return nil
	}
	if key := s.signing(); key != nil {
		return key.Seal(m, time.Now())
	}
	return nil
}

// signed reports whether messages on a subject are signed: requests, answers, control events, and descriptions of payloads.
func signed(n events.Names, subject string) bool {
	if strings.HasPrefix(subject, "$O."+n.Blobs+".M.") {
		return true
	}
	rest, ours := strings.CutPrefix(subject, n.Prefix()+".")
	if !ours {
		return false
	}
	if strings.HasPrefix(rest, "event.") {
		return strings.HasSuffix(rest, ".control") || strings.Contains(rest, "."+string(events.KindInputClosed)+".")
	}
	return strings.HasPrefix(rest, "api.") || subject == n.Request()
}

// Signed reports whether this connection checks signatures. Then everyone has a role, and the facts of a run name its pool in their
// subjects.
func (b *Bus) Signed() bool { return b.sealing.lists != "" }

// JournalsOfPools returns the time since which runners may write records of journals only on the subjects of their pools, according to the
// list of signers; ok is false if they may write everywhere.
func (b *Bus) JournalsOfPools() (since time.Time, ok bool) {
	list := b.sealing.signers()
	if list == nil || list.Journals.IsZero() {
		return time.Time{}, false
	}
	return list.Journals, true
}

// Self returns what the key of this connection may sign; ok is false without a key, and without a list of signers that has it.
func (b *Bus) Self() (who seal.Signer, ok bool) {
	list, key := b.sealing.signers(), b.sealing.signing()
	if list == nil || key == nil {
		return who, false
	}
	i := slices.IndexFunc(list.Signers, func(s seal.Signer) bool { return s.Key == key.Public() && s.Until == nil })
	if i < 0 {
		return who, false
	}
	return list.Signers[i], true
}

// Unlisted reports whether this connection has a key, and a list of signers that lacks it or accepts it no longer.
func (b *Bus) Unlisted() bool {
	_, listed := b.Self()
	return !listed && b.sealing.signers() != nil && b.sealing.signing() != nil
}

// signer finds who signed a message; asked is false without a list of signers, unless the message was sent with WithRights.
func (s *sealing) signer(m *events.Message, at time.Time) (who *seal.Signer, asked bool, err error) {
	list := s.signers()
	if list == nil {
		who = seal.Anyone(m)
		return who, who != nil, nil
	}
	who, err = list.Of(m, at)
	return who, true, err
}

// event decodes a message of the log. If it needs a valid signature and has none, the event is Unsigned.
func (b *Bus) event(m events.Message, seq uint64, at time.Time) (e events.Event, ok bool) {
	e, ok = events.Decode(b.names, m)
	e.Seq, e.Time = seq, at
	if !ok || b.sealing.lists == "" || !seal.Demands(&e) {
		return e, ok
	}
	if fault := b.sealing.signers().Fact(&m, e.Kind, at); fault != nil {
		e.Data, e.Raw, e.Fault = nil, m.Body, fault
	}
	return e, ok
}

// Unsigned reports whether an event does not count for lack of a signature; its fault says why.
func Unsigned(e *events.Event) bool {
	return e.Fault != nil && e.Fault.Code == events.CodeNotPermitted && seal.Demands(e)
}
