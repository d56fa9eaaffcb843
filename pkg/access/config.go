package access

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// Tenant is one installation on a server, with accounts of its own: tenants see nothing of one another.
type Tenant struct {
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix,omitempty"`
	Identities []Identity `json:"identities"`
	// Since is the time from which answers and control events need a signature. Retired lists keys that signed before, with what
	// they were allowed to sign.
	Since   time.Time     `json:"since,omitzero"`
	Retired []seal.Signer `json:"retired,omitempty"`
	// Journals is the time from which runners may write only records of their own pools into journals; zero means Always.
	Journals time.Time `json:"journals,omitzero"`
}

// Names returns the names of the tenant's subjects and streams.
func (t *Tenant) Names() events.Names { return events.NewNames(t.Prefix) }

// Account returns the name of the account that has the streams.
func (t *Tenant) Account() string { return strings.ToUpper(t.Name) }

// AccountOf returns the name of an identity's account.
func (t *Tenant) AccountOf(i *Identity) string {
	if i.Role.Inside() {
		return t.Account()
	}
	return t.Account() + "__" + strings.ToUpper(i.Name)
}

// grant is something that an account imports or exports.
type grant struct {
	subject string
	stream  bool // Messages are delivered to subscribers; otherwise requests are answered.
	many    bool // A request gets several reply messages.
}

// grants returns what the account of an identity outside the engine imports.
func (i *Identity) grants(n events.Names) []grant {
	var list []grant
	for _, row := range Table(n) {
		if row.Local() {
			continue
		}
		if slices.Contains(row.Publish, i.Role) && i.entitled(row.Verb) {
			for _, s := range i.concrete(row.Subject) {
				list = append(list, grant{subject: s, many: row.Many})
			}
		}
		if slices.Contains(row.Subscribe, i.Role) && !row.Asked {
			for _, s := range i.concrete(row.Subject) {
				list = append(list, grant{subject: s, stream: true})
			}
		}
	}
	return list
}

// answers returns the requests that an identity outside the engine answers; its account exports them.
func (i *Identity) answers(n events.Names) []grant {
	var list []grant
	for _, row := range Table(n) {
		if row.Asked && !i.Role.Inside() && slices.Contains(row.Subscribe, i.Role) {
			for _, s := range i.concrete(row.Subject) {
				list = append(list, grant{subject: s, many: row.Many})
			}
		}
	}
	slices.SortFunc(list, compare)
	return list
}

// Config writes the accounts of tenants in the form of a NATS server's configuration.
func Config(tenants []Tenant) string {
	var b strings.Builder
	b.WriteString("# Generated from the table of subjects by `jobgraph init --secure`: do not edit.\naccounts {\n")
	for i := range tenants {
		tenants[i].write(&b)
	}
	b.WriteString("}\n")
	return b.String()
}

func (t *Tenant) write(b *strings.Builder) {
	n := t.Names()
	exports := map[grant][]string{}
	for i := range t.Identities {
		id := &t.Identities[i]
		if id.Role.Inside() {
			continue
		}
		for _, g := range id.grants(n) {
			if account := t.AccountOf(id); !slices.Contains(exports[g], account) {
				exports[g] = append(exports[g], account)
			}
		}
	}
	fmt.Fprintf(b, "  %s {\n    jetstream: enabled\n    users: [\n", t.Account())
	for i := range t.Identities {
		if t.Identities[i].Role.Inside() {
			t.Identities[i].write(b, n)
		}
	}
	b.WriteString("    ]\n    exports: [\n")
	for _, g := range slices.SortedFunc(maps.Keys(exports), compare) {
		g.export(b, exports[g]...)
	}
	b.WriteString("    ]\n    imports: [\n")
	for i := range t.Identities {
		for _, g := range t.Identities[i].answers(n) {
			g.importFrom(b, t.AccountOf(&t.Identities[i]))
		}
	}
	b.WriteString("    ]\n  }\n")
	for i := range t.Identities {
		if !t.Identities[i].Role.Inside() {
			t.writeOutside(b, &t.Identities[i])
		}
	}
}

// writeOutside writes the account of an identity outside the engine.
func (t *Tenant) writeOutside(b *strings.Builder, id *Identity) {
	n := t.Names()
	fmt.Fprintf(b, "  %s {\n    users: [\n", t.AccountOf(id))
	id.write(b, n)
	b.WriteString("    ]\n")
	if answers := id.answers(n); len(answers) > 0 {
		b.WriteString("    exports: [\n")
		for _, g := range answers {
			g.export(b, t.Account())
		}
		b.WriteString("    ]\n")
	}
	b.WriteString("    imports: [\n")
	list := id.grants(n)
	slices.SortFunc(list, compare)
	for _, g := range slices.Compact(list) {
		g.importFrom(b, t.Account())
	}
	b.WriteString("    ]\n  }\n")
}

func (g grant) export(b *strings.Builder, to ...string) {
	fmt.Fprintf(b, "      {%s: %s, accounts: [%s]%s}\n", g.kind(), strconv.Quote(g.subject), strings.Join(to, ", "), g.response())
}

func (g grant) importFrom(b *strings.Builder, account string) {
	fmt.Fprintf(b, "      {%s: {account: %s, subject: %s}}\n", g.kind(), account, strconv.Quote(g.subject))
}

func compare(a, b grant) int { return strings.Compare(a.kind()+a.subject, b.kind()+b.subject) }

func (g grant) kind() string {
	if g.stream {
		return "stream"
	}
	return "service"
}

func (g grant) response() string {
	if g.many {
		return ", response_type: stream"
	}
	return ""
}

// write writes the configuration of an identity's user: its key and its permissions.
func (i *Identity) write(b *strings.Builder, n events.Names) {
	p := i.Permissions(n)
	fmt.Fprintf(b, "      { # %s, %s\n        nkey: %s\n", i.Name, i.Role, i.Key)
	if i.Role != Admin {
		b.WriteString("        permissions {\n")
		list(b, "publish", p.Publish)
		list(b, "subscribe", p.Subscribe)
		if p.Answers {
			// An answer may arrive as late as the longest wait of a verb.
			b.WriteString("          allow_responses: { max: 1, expires: \"15m\" }\n")
		}
		b.WriteString("        }\n")
	}
	b.WriteString("      }\n")
}

func list(b *strings.Builder, what string, subjects []string) {
	fmt.Fprintf(b, "          %s: { allow: [\n", what)
	for _, s := range subjects {
		fmt.Fprintf(b, "            %s\n", strconv.Quote(s))
	}
	b.WriteString("          ] }\n")
}
