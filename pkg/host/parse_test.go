package host_test

import (
	"errors"
	"flag"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func parse(t *testing.T, vars map[string]string, args ...string) (host.Settings, *host.Flags, []string, error) {
	t.Helper()
	var s host.Settings
	f := host.NewFlags("scheduler", environment(vars))
	s.Declare(f)
	rest, err := f.Parse(args)
	return s, f, rest, err
}

func TestDefaultsHoldWhenNothingIsGiven(t *testing.T) {
	s, _, _, err := parse(t, nil)
	same(t, nil, err)
	same(t, host.Settings{
		Prefix: "jobs", LogFormat: "text", HTTPAddr: "127.0.0.1:0", DrainTimeout: 25 * time.Second,
	}, s)
}

// proves C37
func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	file := musttest.Temp(t, "jobgraph.yaml", "version: 1\nsettings:\n  log-level: warn\n  prefix: file\n  concurrency: 3\n")
	vars := map[string]string{"JOBGRAPH_CONFIG": file, "JOBGRAPH_PREFIX": "env", "JOBGRAPH_CONCURRENCY": "4"}
	s, f, _, err := parse(t, vars, "--concurrency", "5")
	same(t, nil, err)
	same(t, host.Settings{
		Config: file, LogLevel: slog.LevelWarn, Prefix: "env", Concurrency: 5,
		LogFormat: "text", HTTPAddr: "127.0.0.1:0", DrainTimeout: 25 * time.Second,
	}, s)
	sources := map[string]host.Source{}
	for _, setting := range f.List() {
		sources[setting.Name] = setting.Source
	}
	for name, want := range map[string]host.Source{
		"log-level": host.FromConfig, "prefix": host.FromEnv, "concurrency": host.FromFlag, "log-format": host.FromDefault,
	} {
		if sources[name] != want {
			t.Errorf("source of %s is %s, want %s", name, sources[name], want)
		}
	}
}

func TestOwnSectionOfTheFileBeatsTheCommonOne(t *testing.T) {
	file := musttest.Temp(t, "jobgraph.yaml", "version: 1\nsettings:\n  scheduler: {prefix: own}\n  prefix: common\n  planner: {anything: 1}\nmodels: ${UNSET}\n")
	s, _, _, err := parse(t, nil, "--config", file)
	same(t, nil, err)
	same(t, "own", s.Prefix)
}

func TestASectionCalledAsTheProgramIsItsOwn(t *testing.T) {
	file := musttest.Temp(t, "jobgraph.yaml", "version: 1\nscheduler: {prefix: own}\nsettings: {prefix: common, scheduler: {prefix: below}}\nplanner: {anything: 1}\n")
	s, _, _, err := parse(t, nil, "--config", file)
	same(t, nil, err)
	same(t, "own", s.Prefix)
	file = musttest.Temp(t, "jobgraph.yaml", "version: 1\nscheduler: {prefx: own}\n")
	_, _, _, err = parse(t, nil, "--config", file)
	same(t, []string{"jobgraph.yaml:2:13: scheduler.prefx: unknown setting (--help lists all; those of one program stand below its name: settings.scheduler)"}, lines(t, err))
	file = musttest.Temp(t, "jobgraph.yaml", "version: 1\nscheduler: [prefix]\n")
	_, _, _, err = parse(t, nil, "--config", file)
	same(t, []string{"jobgraph.yaml:2:12: scheduler: is a list, expected keys and values"}, lines(t, err))
}

func TestEveryBadSettingIsNamedWithValueAndLimit(t *testing.T) {
	file := musttest.Temp(t, "jobgraph.yaml", "version: 1\nsettings:\n  prefix: a.b\n  colour: red\n")
	vars := map[string]string{"JOBGRAPH_LOG_LEVEL": "loud", "NATS_URL": "http://x", "JOBGRAPH_CONFIG": file}
	_, _, _, err := parse(t, vars, "--log-formt=json", "--concurrency=-1", "--drain-timeout=1d", "--nats-password=p", "--http-addr")
	same(t, []string{
		"--log-formt: unknown flag (did you mean --log-format? --help lists all)",
		"--nats-password: unknown flag (a secret is given by NATS_PASSWORD, NATS_PASSWORD_FILE or --nats-password-file)",
		"--http-addr: the value is missing: flag needs an argument: -http-addr (write --http-addr=VALUE)",
		"jobgraph.yaml:4:3: settings.colour: unknown setting (--help lists all; those of one program stand below its name: settings.scheduler)",
		`jobgraph.yaml:3:11: settings.prefix: value "a.b" is not good (it must be 1 to 32 of A-Z a-z 0-9 _ -)`,
		`JOBGRAPH_LOG_LEVEL: value "loud" is not good: slog: level string "loud": unknown name (it must be debug, info, warn or error)`,
		`--concurrency: value "-1" is not good (it must be a whole number from 0 to 10000)`,
		`--drain-timeout: value "1d" is not good (it must be a duration from 0s to 1h0m0s, such as 1m30s)`,
		`NATS_URL: value "http://x" is not good: scheme "http" is unknown (it must be addresses separated by commas, each nats://, tls://, ws:// or wss://HOST:PORT)`,
	}, lines(t, err))
}

func TestASecretComesFromItsFileAndIsNeverShown(t *testing.T) {
	file := musttest.Temp(t, "password", "s3cret\n")
	vars := map[string]string{"NATS_USER": "u", "NATS_PASSWORD_FILE": file, "NATS_URL": "nats://tok3n@h:1,tls://a:b@h:2"}
	s, f, _, err := parse(t, vars)
	same(t, nil, err)
	same(t, "s3cret", s.NATS.Password)
	var shown strings.Builder
	same(t, nil, f.WriteValues(&shown))
	for _, secret := range []string{"s3cret", "tok3n", "a:b"} {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("config print shows %q:\n%s", secret, shown.String())
		}
	}
	if !strings.Contains(shown.String(), "********@h:1") {
		t.Errorf("config print hides the host:\n%s", shown.String())
	}
}

func TestASecretGivenTwiceOrInAMissingFileIsRefused(t *testing.T) {
	vars := map[string]string{"NATS_PASSWORD": "a", "NATS_PASSWORD_FILE": "b", "NATS_TOKEN_FILE": "/nowhere/token"}
	_, _, _, err := parse(t, vars)
	same(t, []string{
		"NATS_PASSWORD: both NATS_PASSWORD and NATS_PASSWORD_FILE are set (set one of the two)",
		`NATS_TOKEN_FILE: the secret's file "/nowhere/token" cannot be read: open /nowhere/token: no such file or directory (check the path and its permissions)`,
	}, lines(t, err))
}

func TestFlagsMayStandAroundArguments(t *testing.T) {
	s, _, rest, err := parse(t, nil, "config", "--prefix", "x", "print", "--", "--prefix")
	same(t, nil, err)
	same(t, "x", s.Prefix)
	same(t, []string{"config", "print", "--prefix"}, rest)
}

func TestHelpIsNoFault(t *testing.T) {
	_, _, _, err := parse(t, nil, "--help")
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("--help gives %v", err)
	}
}

func TestDocumentationNamesEverySettingAndNoValue(t *testing.T) {
	_, f, _, err := parse(t, map[string]string{"JOBGRAPH_PREFIX": "mine"})
	same(t, nil, err)
	var doc strings.Builder
	same(t, nil, f.WriteDoc(&doc))
	for _, setting := range f.List() {
		if !strings.Contains(doc.String(), "`"+setting.Flag+"` | `"+setting.Env+"`") {
			t.Errorf("%s is not documented", setting.Name)
		}
	}
	if strings.Contains(doc.String(), "mine") {
		t.Error("the documentation depends on the environment")
	}
}

func TestAServiceDeclaresFurtherSettings(t *testing.T) {
	var (
		on    bool
		names []string
		f     = host.NewFlags("runner", environment(map[string]string{"JOBGRAPH_EXPERTS": "a, b,,c"}))
	)
	f.Bool(&on, host.Flag{Name: "dry-run", Usage: "Print."})
	f.Strings(&names, host.Flag{Name: "experts", Usage: "Which."})
	rest, err := f.Parse([]string{"--dry-run", "x"})
	same(t, nil, err)
	same(t, []string{"x"}, rest)
	same(t, true, on)
	same(t, []string{"a", "b", "c"}, names)
}
