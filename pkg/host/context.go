package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// contextFile is the file that the nats command writes for a context, with the keys that host uses.
type contextFile struct {
	URL         string `json:"url"`
	Creds       string `json:"creds"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	NKey        string `json:"nkey"`
	CA          string `json:"ca"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	InboxPrefix string `json:"inbox_prefix"`
}

// ErrNoContext means that a context does not exist.
var ErrNoContext = errors.New("no such NATS context")

// ReadContext reads a context of the nats command from $XDG_CONFIG_HOME/nats/context/<name>.json, or from below ~/.config.
// Paths in it may begin with "~/" and contain ${VAR}. A name that is an absolute path is that file.
func ReadContext(env Env, name string) (NATS, error) {
	path := name
	if !filepath.IsAbs(name) {
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return NATS{}, contextFault(name, "", errors.New("a context is named by one word or an absolute path"))
		}
		path = filepath.Join(configHome(env), "nats", "context", name+".json")
	}
	text, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %q", ErrNoContext, name)
	}
	if err != nil {
		return NATS{}, contextFault(name, path, err)
	}
	var c contextFile
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return NATS{}, contextFault(name, path, err)
	}
	at := func(path string) string { return expandHome(env, path) }
	return NATS{
		URL: c.URL, Creds: at(c.Creds), User: c.User, Password: c.Password, Token: c.Token, NKey: at(c.NKey),
		CA: at(c.CA), Cert: at(c.Cert), Key: at(c.Key), InboxPrefix: c.InboxPrefix, Context: name,
	}, nil
}

func contextFault(name, path string, err error) error {
	fault := Fault{
		Code: CodeUnreadable, Field: "NATS_CONTEXT", File: path, Cause: err.Error(),
		Message: fmt.Sprintf("context %q cannot be read", name), Hint: "nats context ls shows the contexts there are",
	}
	return &contextError{fault: fault, err: err}
}

// contextError is a fault that also matches ErrNoContext.
type contextError struct {
	fault Fault
	err   error
}

func (e *contextError) Error() string   { return e.fault.Error() }
func (e *contextError) Unwrap() []error { return []error{Faults{e.fault}, e.err} }

// Resolve fills missing values from the named context, and finally the default address. If credentials are given, those of
// the context are ignored.
func (n NATS) Resolve(env Env) (NATS, error) {
	if n.Context != "" {
		c, err := ReadContext(env, n.Context)
		if err != nil {
			return n, err
		}
		if len(n.entrances()) == 0 {
			n.Creds, n.User, n.Password, n.Token, n.NKey = c.Creds, c.User, c.Password, c.Token, c.NKey
		}
		if n.Cert == "" && n.Key == "" {
			n.Cert, n.Key = c.Cert, c.Key
		}
		n.URL, n.CA = cmp.Or(n.URL, c.URL), cmp.Or(n.CA, c.CA)
		n.InboxPrefix = cmp.Or(n.InboxPrefix, c.InboxPrefix)
	}
	n.URL = cmp.Or(n.URL, DefaultURL)
	return n, nil
}

func configHome(env Env) string {
	if dir, found := env.get("XDG_CONFIG_HOME"); found {
		return dir
	}
	home, _ := env.get("HOME")
	return filepath.Join(home, ".config")
}

func expandHome(env Env, path string) string {
	home, _ := env.get("HOME")
	if rest, found := strings.CutPrefix(path, "~/"); found {
		path = filepath.Join(home, rest)
	}
	return os.Expand(path, func(name string) string {
		value, _ := env.get(name)
		return value
	})
}
