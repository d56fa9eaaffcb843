package webhook

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Label is the label by which a request names the target for notices about its job.
const Label = "webhook"

// secretPrefix begins the secrets of Standard Webhooks; base64 follows.
const secretPrefix = "whsec_"

// File is the form of the file of targets.
type File struct {
	// Webhooks are the targets, each with a unique name.
	Webhooks []Target `yaml:"webhooks"`
}

// Target is a server that receives notices about events.
type Target struct {
	// Name identifies it: its position and its dead letters have this name.
	Name string `yaml:"name"`
	// URL is the address for notices. Unless AllowAddresses is set, it must use https, and its address must be public.
	URL string `yaml:"url"`
	// Secrets sign each notice: "whsec_" and base64. With two of them, a receiver can change from one to the other.
	Secrets []host.Secret `yaml:"secrets"`
	// Events are the kinds to notify of; all if empty.
	Events []string `yaml:"events"`
	// OnRequest restricts notices to jobs whose label "webhook" names the target.
	OnRequest bool `yaml:"on_request"`
	// AllowAddresses are non-public addresses and ranges that may be reached.
	AllowAddresses []string `yaml:"allow_addresses"`
}

// Read reads the file of targets; none without a path. Errors: host.Faults.
func Read(path string, env host.Env) ([]Target, error) {
	if path == "" {
		return nil, nil
	}
	var f File
	if err := host.ReadYAML(path, env, &f); err != nil {
		return nil, err
	}
	return f.Webhooks, nil
}

// Check refuses a request whose label names none of the targets, if there are any.
func Check(targets []Target, labels map[string]string) *events.Fault {
	name := labels[Label]
	if name == "" || len(targets) == 0 || slices.ContainsFunc(targets, func(t Target) bool { return t.Name == name }) {
		return nil
	}
	return &events.Fault{Code: events.CodeInvalid, Field: "labels." + Label, Message: fmt.Sprintf("there is no webhook %.40q", name), Hint: "the operator lists them in the file of --webhooks"}
}

// Validate implements host.Validator.
func (f *File) Validate() error {
	var faults events.Faults
	names := map[string]bool{}
	for at := range f.Webhooks {
		t := &f.Webhooks[at]
		bad := func(field, message, hint string) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("webhooks[%d].%s", at, field), Message: message, Hint: hint})
		}
		if !events.ValidToken(t.Name) || names[t.Name] {
			bad("name", fmt.Sprintf("%.40q is no name, or another target has it", t.Name), "use A-Z a-z 0-9 _ -, and each name once")
		}
		names[t.Name] = true
		if _, err := egress.Ranges(t.AllowAddresses); err != nil {
			bad("allow_addresses", err.Error(), "use addresses such as 127.0.0.1, or ranges such as 10.0.0.0/8")
		}
		if why := t.wrongURL(); why != "" {
			bad("url", why, "https://hooks.example.org/jobgraph")
		}
		if _, err := t.signers(); err != nil {
			bad("secrets", err.Error(), `echo "whsec_$(openssl rand -base64 32)" makes one; name it as "${VARIABLE}" or "${file:PATH}"`)
		}
		for _, kind := range t.Events {
			if !slices.Contains(verb.Noticeable(), events.Kind(kind)) {
				bad("events", fmt.Sprintf("unknown event %.40q", kind), "use job.finished, job.failed, job.stopped, input.requested")
			}
		}
	}
	return faults.OrNil()
}

// wrongURL returns what is wrong with the URL; "" if nothing is.
func (t *Target) wrongURL() string {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "it is no http or https address"
	case u.User != nil:
		return "it has a user or password: the signature says who sends"
	case u.Scheme == "http" && len(t.AllowAddresses) == 0:
		return "http sends results readably: it is for addresses of allow_addresses"
	}
	return ""
}

// signers returns a signer for each of the secrets.
func (t *Target) signers() ([]*webhooks.Webhook, error) {
	if len(t.Secrets) == 0 {
		return nil, fmt.Errorf("there is no secret")
	}
	var list []*webhooks.Webhook
	for _, secret := range t.Secrets {
		text, ok := strings.CutPrefix(string(secret), secretPrefix)
		if signer, err := webhooks.NewWebhook(text); err == nil && ok && len(text) >= 32 && len(text) <= 88 {
			list = append(list, signer)
			continue
		}
		return nil, fmt.Errorf("a secret is not whsec_ and base64 of 24 to 64 bytes")
	}
	return list, nil
}

// wants reports whether the target gets notices of a kind.
func (t *Target) wants(kind events.Kind) bool {
	return len(t.Events) == 0 || slices.Contains(t.Events, string(kind))
}
