package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func contextHome(t *testing.T) host.Env {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "nats", "context")
	musttest.Do(t, os.MkdirAll(folder, 0o755))
	for name, text := range map[string]string{
		filepath.Join(folder, "prod.json"): `{"description":"d","url":"tls://prod:4222","user":"u","password":"p","ca":"~/ca.pem","inbox_prefix":"_IN"}`,
		filepath.Join(folder, "bad.json"):  `{"url":`,
	} {
		musttest.Write(t, name, text)
	}
	return environment(map[string]string{"XDG_CONFIG_HOME": dir, "HOME": "/home/me"})
}

func TestAContextFillsWhatIsNotGiven(t *testing.T) {
	env := contextHome(t)
	got, err := host.NATS{Context: "prod"}.Resolve(env)
	same(t, nil, err)
	if want := (host.NATS{
		Context: "prod", URL: "tls://prod:4222", User: "u", Password: "p", CA: "/home/me/ca.pem", InboxPrefix: "_IN",
	}); got != want {
		t.Fatalf("got %#v user %s, want %#v", got, got.User, want)
	}
	got, err = host.NATS{Context: "prod", URL: "nats://x", Token: "t"}.Resolve(env)
	same(t, nil, err)
	if want := (host.NATS{
		Context: "prod", URL: "nats://x", Token: "t", CA: "/home/me/ca.pem", InboxPrefix: "_IN",
	}); got != want {
		t.Fatalf("given ways to enter are mixed with the context's: %s %s", got.User, got.URL)
	}
}

func TestWithoutAContextTheDefaultAddressHolds(t *testing.T) {
	got, err := host.NATS{}.Resolve(contextHome(t))
	same(t, nil, err)
	same(t, host.DefaultURL, got.URL)
}

func TestAContextThatCannotBeReadIsAFault(t *testing.T) {
	env := contextHome(t)
	_, err := host.ReadContext(env, "none")
	if !errors.Is(err, host.ErrNoContext) || len(faults(t, err)) != 1 || host.ExitCode(err) != host.ExitUsage {
		t.Fatalf("missing context: %v", err)
	}
	for _, name := range []string{"bad", "../prod", "", ".."} {
		if _, err := host.ReadContext(env, name); len(faults(t, err)) != 1 {
			t.Errorf("context %q: %v", name, err)
		}
	}
}

func TestBusSettingsThatDoNotGoTogetherAreAllNamed(t *testing.T) {
	err := host.NATS{Cert: "/nowhere/cert", Password: "p", Token: "t", Creds: "/nowhere/creds"}.Validate()
	same(t, []string{
		"NATS_CERT: a certificate and its key go together (set NATS_CERT and NATS_KEY, or neither)",
		"NATS_PASSWORD: a password needs a user (set NATS_USER too)",
		"NATS_CREDS: more than one way to enter is given: NATS_CREDS, NATS_TOKEN (keep one)",
		"NATS_CREDS: the file cannot be opened: open /nowhere/creds: no such file or directory (check the path and its permissions)",
		"NATS_CERT: the file cannot be opened: open /nowhere/cert: no such file or directory (check the path and its permissions)",
	}, lines(t, err))
}

func TestBusSettingsNeverPrintTheirSecrets(t *testing.T) {
	n := host.NATS{URL: "nats://user:pass@h:4222", Password: "pass", Token: "tok"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		same(t, "nats://********@h:4222", fmt.Sprintf(verb, n))
	}
}
