package host

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// NATS holds the address and credentials of the bus. It is plain data, which the connecting code converts.
type NATS struct {
	// URL is one or more addresses, separated by commas.
	URL string
	// Creds is the path of a credentials file.
	Creds string
	// User is used with Password.
	User string
	// Password is used with User.
	Password string
	// Token authenticates the connection, instead of the other credentials.
	Token string
	// NKey is the path of a file with an nkey seed, or the seed itself, which begins with "SU".
	NKey string
	// CA is the path of the certificates to trust.
	CA string
	// Cert is the path of the client's certificate; Key goes with it.
	Cert string
	// Key is the path of the private key of Cert.
	Key string
	// InboxPrefix is the first part of reply subjects; empty means the client's default.
	InboxPrefix string
	// Context is the name of a context of the nats command that fills missing values.
	Context string
	// Signers is the path of the list of keys whose signatures count; empty means that no signatures are required.
	Signers string
}

// DefaultURL is the default address of the bus.
const DefaultURL = "nats://127.0.0.1:4222"

func (n *NATS) declare(f *Flags) {
	f.String(&n.URL, Flag{
		Name: "nats-url", Env: "NATS_URL", Check: checkURL,
		Limit: "addresses separated by commas, each nats://, tls://, ws:// or wss://HOST:PORT",
		Usage: "Address of the bus; without it and without a context " + DefaultURL + ".",
	})
	f.String(&n.Creds, Flag{Name: "nats-creds", Env: "NATS_CREDS", Usage: "Path of a credentials file."})
	f.String(&n.User, Flag{Name: "nats-user", Env: "NATS_USER", Usage: "User name; goes with the password."})
	f.String(&n.Password, Flag{
		Name: "nats-password", Env: "NATS_PASSWORD", Secret: true, Usage: "Password of the user.",
	})
	f.String(&n.Token, Flag{Name: "nats-token", Env: "NATS_TOKEN", Secret: true, Usage: "Token that enters alone."})
	f.String(&n.NKey, Flag{
		Name: "nats-nkey", Env: "NATS_NKEY", Secret: true, Usage: "An nkey seed, or the path of the file that holds it.",
	})
	f.String(&n.CA, Flag{Name: "nats-ca", Env: "NATS_CA", Usage: "Path of the certificates to trust."})
	f.String(&n.Cert, Flag{Name: "nats-cert", Env: "NATS_CERT", Usage: "Path of the client's certificate."})
	f.String(&n.Key, Flag{Name: "nats-key", Env: "NATS_KEY", Usage: "Path of the certificate's private key."})
	f.String(&n.InboxPrefix, Flag{
		Name: "nats-inbox", Env: "NATS_INBOX_PREFIX", Usage: "First part of the subjects of replies, where permissions ask for one.",
	})
	f.String(&n.Signers, Flag{Name: "signers", Env: "JOBGRAPH_SIGNERS", Usage: "Path of the list of keys whose signatures count, which init --secure makes; without it none is asked for."})
	f.String(&n.Context, Flag{
		Name: "nats-context", Env: "NATS_CONTEXT", Usage: "Context of the nats command that fills what is not given.",
	})
}

func checkURL(value string) error {
	for address := range strings.SplitSeq(value, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil {
			return errors.New("an address cannot be read")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("scheme %q is unknown", u.Scheme)
		}
		if u.Hostname() == "" {
			return errors.New("an address has no host")
		}
	}
	return nil
}

// Validate reports conflicting values and files that cannot be opened; the error is Faults.
func (n NATS) Validate() error {
	var faults Faults
	conflict := func(field, message, hint string) {
		faults = append(faults, Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if (n.Cert == "") != (n.Key == "") {
		conflict("NATS_CERT", "a certificate and its key go together", "set NATS_CERT and NATS_KEY, or neither")
	}
	if n.Password != "" && n.User == "" {
		conflict("NATS_PASSWORD", "a password needs a user", "set NATS_USER too")
	}
	if ways := n.entrances(); len(ways) > 1 {
		conflict(ways[0], "more than one way to enter is given: "+strings.Join(ways, ", "), "keep one")
	}
	for _, file := range []struct{ field, path string }{
		{"NATS_CREDS", n.Creds}, {"NATS_CA", n.CA}, {"NATS_CERT", n.Cert}, {"NATS_KEY", n.Key}, {"NATS_NKEY", n.nkeyFile()},
	} {
		if file.path == "" {
			continue
		}
		opened, err := os.Open(file.path)
		if err != nil {
			faults = append(faults, Fault{
				Code: CodeUnreadable, Field: file.field, Message: "the file cannot be opened", Cause: err.Error(),
				Hint: "check the path and its permissions",
			})
			continue
		}
		_ = opened.Close() // Nothing was read or written.
	}
	return faults.Err()
}

func (n NATS) entrances() []string {
	var ways []string
	for _, way := range []struct{ field, value string }{
		{"NATS_CREDS", n.Creds}, {"NATS_NKEY", n.NKey}, {"NATS_USER", n.User}, {"NATS_TOKEN", n.Token},
	} {
		if way.value != "" {
			ways = append(ways, way.field)
		}
	}
	return ways
}

// nkeyFile returns the path in NKey, empty if NKey is a seed.
func (n NATS) nkeyFile() string {
	if len(n.NKey) == 58 && strings.HasPrefix(n.NKey, "SU") {
		return ""
	}
	return n.NKey
}

// String returns the address without credentials.
func (n NATS) String() string {
	if n.URL == "" {
		return DefaultURL
	}
	return MaskURL(n.URL)
}

// GoString returns what String returns, so that no fmt verb prints a secret.
func (n NATS) GoString() string { return n.String() }

// LogValue returns what String returns, so that no log line contains a secret.
func (n NATS) LogValue() slog.Value { return slog.StringValue(n.String()) }
