package seal

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Header is the header of a message that holds its seal.
const Header = "Jobgraph-Seal"

// Slack is how far the time of a seal may be from the time at which its message is stored or arrives. Twice that is the window
// within which a stream recognises a repeated message.
const Slack = time.Minute

// form is the first word of a seal: the version of its format.
const form = "v1"

// ErrNone means that a message has no seal.
var ErrNone = errors.New("no signature")

// Key is a private key that signs messages.
type Key struct {
	pair   nkeys.KeyPair
	public string
}

// Read reads a seed, or a file of credentials that contains one.
func Read(secret []byte) (*Key, error) {
	pair, err := nkeys.ParseDecoratedNKey(secret)
	if err != nil {
		return nil, fmt.Errorf("read nkey seed: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read nkey seed: %w", err)
	}
	return &Key{pair, public}, nil
}

// Public returns the public key.
func (k *Key) Public() string { return k.public }

// Seal signs a message in its present form with a time.
func (k *Key) Seal(m *events.Message, at time.Time) error {
	moment := strconv.FormatInt(at.UnixMilli(), 10)
	signature, err := k.pair.Sign(statement(m, moment))
	if err != nil {
		return fmt.Errorf("sign %s: %w", m.Subject, err)
	}
	if m.Header == nil {
		m.Header = map[string][]string{}
	}
	m.Header[Header] = []string{strings.Join([]string{form, k.public, moment, base64.RawURLEncoding.EncodeToString(signature)}, " ")}
	return nil
}

// statement returns the bytes that are signed.
func statement(m *events.Message, moment string) []byte {
	sum := sha256.Sum256(m.Body)
	return []byte(strings.Join([]string{"jobgraph seal " + form, m.Subject, m.Get(events.HeaderID), m.Get(events.HeaderType), moment, hex.EncodeToString(sum[:])}, "\n"))
}

// Named returns the public key that a message names as that of its signer, "" for none. Nothing is checked.
func Named(m *events.Message) string {
	_, rest, _ := strings.Cut(m.Get(Header), " ")
	key, _, _ := strings.Cut(rest, " ")
	return key
}

// Stamp returns who signed a message and when, as its seal says; "" for none. Nothing is checked. A repeated message
// counts only with the same stamp, while the signature behind it can be written in several ways.
func Stamp(m *events.Message) string {
	text := m.Get(Header)
	return text[:max(0, strings.LastIndexByte(text, ' '))]
}

// opened is a seal that matches its message.
type opened struct {
	key string
	at  time.Time
}

// open checks that a message has not changed since it was sealed.
func open(m *events.Message) (o opened, err error) {
	text := m.Get(Header)
	if text == "" {
		return o, fmt.Errorf("%w: %w", ErrNone, unsealed(m, "it has no signature", "connect with a key: NATS_NKEY or a file of credentials"))
	}
	parts := strings.Split(text, " ")
	if len(parts) != 4 || parts[0] != form {
		return o, unsealed(m, "its signature has an unknown form", "use a client of this release")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil {
		return o, unsealed(m, "its signature cannot be read", "")
	}
	moment, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return o, unsealed(m, "its signature has no moment", "")
	}
	public, err := nkeys.FromPublicKey(parts[1])
	if err != nil || public.Verify(statement(m, parts[2]), signature) != nil {
		return o, unsealed(m, "its signature does not fit it", "")
	}
	return opened{parts[1], time.UnixMilli(moment)}, nil
}

// unsealed returns the fault of a message that does not count.
func unsealed(m *events.Message, why, hint string) *events.Fault {
	what := m.Get(events.HeaderType)
	if kind, ok := events.KindOf(what); ok {
		what = string(kind)
	}
	if what == "" {
		what = m.Subject
	}
	return &events.Fault{Code: events.CodeNotPermitted, Field: "signature", Message: fmt.Sprintf("%.80s does not count: %s", what, why), Hint: hint}
}
