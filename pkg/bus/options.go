package bus

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Options configures the connection. The zero value connects to nats://127.0.0.1:4222 with the default prefix.
type Options struct {
	// URL is one or more server addresses, separated by commas.
	URL string
	// Creds is the path of a credentials file. User and Password, Token, or NKey (a seed or the path of a seed) are
	// alternatives.
	Creds, User, Password, Token, NKey string
	// CA, Cert and Key are paths of PEM files for TLS.
	CA, Cert, Key string
	// Name identifies the client: the server shows it, and it becomes part of the inbox prefix.
	Name string
	// Prefix is the first token of all subjects, "jobs" when empty; it must be a valid id.
	Prefix string
	// InboxPrefix is the first part of reply subjects; "_INBOX_<name>" when empty and Name is given.
	InboxPrefix string
	// InProcess connects to an embedded server without a socket, if set; URL is ignored then.
	InProcess nats.InProcessConnProvider
	// Logger logs disconnects and failed attempts; nil logs nothing.
	Logger *slog.Logger
	// Replicas is the number of replicas of streams that Init creates; 0 means 1.
	Replicas int
	// AckTimeout is how long a publish waits for its acknowledgement before its outcome counts as unknown; 0 means 5 s.
	AckTimeout time.Duration
	// MaxPending limits the publishes that await their acknowledgement; 0 means 8192.
	MaxPending int

	// Signers is the path of the list of keys whose signatures count, which is read again when it changes. Without one nothing
	// that is read needs a signature.
	Signers string

	denials *denials // The denials of this connection; set by fill.
	sealing *sealing // The signatures of this connection; set by fill.
}

const (
	defaultAckTimeout = 5 * time.Second
	defaultMaxPending = 8192
	dialTimeout       = 2 * time.Second
	maxReconnectWait  = 2 * time.Second
	// With pingEvery and pingsOut, a silent server is noticed within 4 to 6 s; with writeTimeout, one that no longer reads.
	pingEvery    = 2 * time.Second
	pingsOut     = 2
	writeTimeout = 5 * time.Second
)

func (o *Options) fill() error {
	o.denials = newDenials()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.URL == "" {
		o.URL = nats.DefaultURL
	}
	if o.Prefix == "" {
		o.Prefix = events.DefaultPrefix
	}
	if !events.ValidID(o.Prefix) {
		return fmt.Errorf("prefix %.80q: want 1 to %d of the characters A-Z a-z 0-9 _ -", o.Prefix, events.MaxID)
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Replicas < 1 || o.Replicas > 5 {
		return fmt.Errorf("replicas %d: want 1 to 5", o.Replicas)
	}
	if o.AckTimeout <= 0 {
		o.AckTimeout = defaultAckTimeout
	}
	if o.MaxPending <= 0 {
		o.MaxPending = defaultMaxPending
	}
	if o.InboxPrefix == "" && o.Name != "" {
		o.InboxPrefix = "_INBOX_" + events.EscapeID(o.Name)
	}
	var err error
	o.sealing, err = newSealing(o)
	return err
}

// nats returns the options for the SDK.
func (o *Options) nats() ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Timeout(dialTimeout), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(reconnectDelay),
		// Buffer nothing while disconnected: a publish then fails at once, and certainly nothing was stored.
		nats.ReconnectBufSize(-1), nats.FlusherTimeout(writeTimeout),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if o.denials.heard(err) {
				return // The waiting callers return this error.
			}
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			o.Logger.Warn("bus reports an error", "error", err, "subject", subject)
		}),
	}
	if o.Name != "" {
		opts = append(opts, nats.Name(o.Name))
	}
	if o.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.InboxPrefix))
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
	} else {
		opts = append(opts, nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut))
	}
	opts = append(opts, o.security()...)
	if o.NKey != "" {
		key, err := nkey(o.NKey)
		if err != nil {
			return nil, err
		}
		opts = append(opts, key)
	}
	return opts, nil
}

func (o *Options) security() []nats.Option {
	var opts []nats.Option
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		opts = append(opts, nats.ClientCert(o.Cert, o.Key), nats.ClientTLSConfig(
			func() (tls.Certificate, error) { return tls.LoadX509KeyPair(o.Cert, o.Key) }, nil))
	}
	return opts
}

// nkey accepts a seed or the path of a file that holds one.
func nkey(seed string) (nats.Option, error) {
	if !isSeed(seed) {
		opt, err := nats.NkeyOptionFromSeed(seed)
		if err != nil {
			return nil, fmt.Errorf("read nkey seed: %w: %v", ErrNotPermitted, err)
		}
		return opt, nil
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, fmt.Errorf("read nkey seed: %w: %v", ErrNotPermitted, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read nkey seed: %w: %v", ErrNotPermitted, err)
	}
	return nats.Nkey(public, pair.Sign), nil
}

// reconnectDelay grows from 50 ms to 2 s.
func reconnectDelay(attempts int) time.Duration {
	return min(maxReconnectWait, 50*time.Millisecond<<min(attempts, 6))
}
