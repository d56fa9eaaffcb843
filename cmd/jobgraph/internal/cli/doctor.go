package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// diagnosis is the result of doctor.
type diagnosis struct {
	Server   *bus.Server       `json:"server,omitempty"`
	Sync     string            `json:"sync_interval"`
	Loss     string            `json:"loss"`
	Access   string            `json:"access"`
	Streams  []bus.StreamFacts `json:"streams"`
	Services []serviceFacts    `json:"services"`
	Gateways []string          `json:"gateways"`
	Experts  []string          `json:"experts"`
	// Expired are experts whose cards have just expired.
	Expired []client.ExpiredCard `json:"expired,omitempty"`
	Sandbox []boxFacts           `json:"sandbox"`
	// Tools are tools of cards that are not offered.
	Tools []lackFacts `json:"tools,omitempty"`
	// Lost are jobs whose saved states cover events that the log lacks; Quarantined are the jobs in quarantine.
	Lost        []bus.LostJob `json:"lost"`
	Quarantined []string      `json:"quarantined"`
	Faults      events.Faults `json:"faults"`
}

// boxFacts describes the sandbox of some experts' programs, and why it is not stricter.
type boxFacts struct {
	Level   string   `json:"level"`
	Why     string   `json:"why,omitempty"`
	Experts []string `json:"experts"`
}

// lackFacts are tools that some experts do not get, and why.
type lackFacts struct {
	Tools   []string `json:"tools"`
	Why     string   `json:"why"`
	Experts []string `json:"experts"`
}

// serviceFacts describes the consumer of a service.
type serviceFacts struct {
	Name string `json:"name"`
	bus.ConsumerFacts
}

// operations are the commands for operators: doctor, fsck, init, config, model, bench, version.
type operations struct{ app *app }

func (g operations) doctorCommand() *cobra.Command {
	var monitor string
	c := &cobra.Command{
		Use: "doctor", Short: "Check bus, streams and services, and say what could be lost and when", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				d, err := diagnose(ctx, c, monitor)
				if err != nil {
					return err
				}
				if err := g.writeDiagnosis(d); err != nil {
					return err
				}
				if len(d.Faults) > 0 {
					return outcome(ExitFailed)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&monitor, "monitor", "", "the server's monitoring address, http://HOST:8222, to learn how often it syncs to disk")
	return c
}

func diagnose(ctx context.Context, c *client.Client, monitor string) (*diagnosis, error) {
	d := &diagnosis{Sync: "unknown", Faults: events.Faults{}, Services: []serviceFacts{}, Gateways: []string{}, Experts: []string{}, Sandbox: []boxFacts{}, Lost: []bus.LostJob{}, Quarantined: []string{}}
	server, err := c.Bus().Streams().Server(ctx)
	if err != nil {
		return nil, err
	}
	d.Server, d.Access = &server, accessOf(&server)
	var faults events.Faults
	if err := c.Bus().Streams().Check(ctx); errors.As(err, &faults) {
		d.Faults = append(d.Faults, faults...)
	} else if err != nil {
		return nil, err
	}
	if err := c.Bus().Streams().CheckSigned(ctx); errors.As(err, &faults) {
		d.Faults = append(d.Faults, faults...)
	} else if err != nil && !errors.Is(err, bus.ErrNotFound) { // Check has reported it.
		return nil, err
	}
	if err := c.Bus().Streams().CheckOptional(ctx); errors.As(err, &faults) {
		for i := range faults {
			faults[i].Message += ": live items of runs reach only those who listen at that moment; jobgraph tail and watch --live show no earlier ones"
		}
		d.Faults = append(d.Faults, faults...)
	} else if err != nil {
		return nil, err
	}
	if d.Streams, err = c.Bus().Streams().List(ctx); err != nil {
		return nil, err
	}
	if len(d.Streams) > 0 {
		if err := errors.Join(d.services(ctx, c), d.jobs(ctx, c)); err != nil {
			return nil, err
		}
	}
	if monitor != "" {
		if d.Sync, err = syncInterval(ctx, monitor); err != nil {
			return nil, usageError{fmt.Errorf("--monitor: %w", err)}
		}
		if err := d.health(ctx, monitor); err != nil {
			return nil, usageError{fmt.Errorf("--monitor: %w", err)}
		}
	}
	d.judge()
	return d, nil
}

// services checks that what is asked for has readers, and describes the experts.
func (d *diagnosis) services(ctx context.Context, c *client.Client) error {
	cards, err := c.Experts().List(ctx)
	if err != nil {
		return err
	}
	if d.Expired, err = c.Experts().Expired(ctx); err != nil {
		return err
	}
	if err := errors.Join(d.readers(ctx, c, cards), d.admission(ctx, c), d.batches(ctx, c), d.gateways(ctx, c)); err != nil {
		return err
	}
	for _, card := range cards {
		d.Experts = append(d.Experts, card.ID)
		d.kept(&card)
		d.lacks(&card)
	}
	return nil
}

// admission finds out whether the scheduler admits jobs.
func (d *diagnosis) admission(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, admissionBound)
	defer cancel()
	closed, err := client.SupplyOf(c).Admission(ctx)
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		return nil // The role of this client may not ask.
	case err != nil:
		d.probe(ctx, c)
		closed = &events.Fault{Code: events.CodeUnavailable, Field: "scheduler", Message: "it does not answer", Cause: err.Error(), Hint: "see its log and its /readyz, or start one"}
	case closed == nil:
		return nil
	default:
		closed.Field = "admission"
	}
	d.Faults = append(d.Faults, *closed)
	return nil
}

// probe finds out whether the server stores anything, where no scheduler can say so.
func (d *diagnosis) probe(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), admissionBound)
	defer cancel()
	if err := c.Bus().Streams().Probe(ctx); errors.Is(err, bus.ErrUnknown) || errors.Is(err, bus.ErrFull) {
		d.Faults = append(d.Faults, events.Fault{
			Code: events.CodeUnavailable, Field: "server", Message: "it stores nothing; its disk may be full", Cause: err.Error(), Hint: bus.MuteHint,
		})
	}
}

// admissionBound limits the wait for the answer whether jobs are admitted, and for that of a probe.
const admissionBound = 5 * time.Second

// gateways lists the gateways with their addresses, and finds webhooks that no gateway serves any more.
func (d *diagnosis) gateways(ctx context.Context, c *client.Client) error {
	err := c.Bus().Services().Peers(ctx, string(release.Gateway), func(p bus.Peer) { d.Gateways = append(d.Gateways, p.Metadata[release.AddressKey]) })
	if err != nil && !errors.Is(err, bus.ErrNobody) {
		return err
	}
	slices.Sort(d.Gateways)
	targets, err := c.Bus().Webhooks().Targets(ctx)
	if errors.Is(err, bus.ErrNotFound) {
		return nil // Check has reported it.
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		facts := targets[name]
		d.Services = append(d.Services, serviceFacts{"webhook " + name, facts})
		if facts.Waiting == 0 && facts.Pending > 0 {
			d.Faults = append(d.Faults, events.Fault{
				Code: events.CodeUnavailable, Field: "webhook " + name, Message: fmt.Sprintf("no gateway serves it; %d events wait", facts.Pending), Hint: "start a gateway whose --webhooks lists it",
			})
		}
	}
	return nil
}

// batches finds batches that no runner takes, because all present runners are of a release without batches.
func (d *diagnosis) batches(ctx context.Context, c *client.Client) error {
	pools, err := c.Bus().Queues().Pools(ctx)
	if errors.Is(err, bus.ErrNotFound) {
		return nil // Check has reported it.
	}
	if err != nil {
		return err
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		facts := pools[pool]
		if of, batches := batch.Of(pool); batches && facts.Pending > 0 && facts.Waiting == 0 && facts.Unsettled == 0 {
			d.Faults = append(d.Faults, events.Fault{
				Code: events.CodeUnavailable, Field: "pool " + of, Message: fmt.Sprintf("no runner accepts batches any more; %d of them wait", facts.Pending),
				Hint: "start a runner of a release that accepts batches, if only briefly: when it stops, it returns the SubJobs one by one",
			})
		}
	}
	return nil
}

// jobs finds jobs that no service can continue.
func (d *diagnosis) jobs(ctx context.Context, c *client.Client) error {
	found, err := c.Bus().Streams().Survey(ctx)
	if errors.Is(err, bus.ErrNotFound) {
		return nil // Check has reported it.
	}
	if err != nil {
		return err
	}
	d.Lost, d.Quarantined = found.Lost, found.Quarantined
	if text := found.Text(); text != "" {
		d.Faults = append(d.Faults, events.Fault{
			Code: events.CodeNotFound, Field: c.Names().Log, Message: text,
			Hint: "restore the stream from a backup; `jobgraph fsck` lists each job, `jobgraph delete ID` deletes one",
		})
	}
	if n := len(d.Quarantined); n > 0 {
		const named = 5
		text := strings.Join(d.Quarantined[:min(n, named)], ", ")
		if n > named {
			text += fmt.Sprintf(" and %d more", n-named)
		}
		hint := "`jobgraph dlq ls` says why; `jobgraph dlq retry ID` tries one again, `jobgraph delete ID` removes it"
		if unknown := len(found.Unknown); unknown > 0 {
			hint = fmt.Sprintf("start a scheduler of the newest release that ran here: of %d that were not understood, it resumes those that it understands; ", unknown) + hint
		}
		d.Faults = append(d.Faults, events.Fault{Code: events.CodeConflict, Field: "quarantine", Message: "left alone by the scheduler: " + text, Hint: hint})
	}
	return nil
}

// kept adds an expert to the group with the same sandbox.
func (d *diagnosis) kept(card *events.Card) {
	level, why, _ := boxOf(card)
	if level == "" {
		return
	}
	i := slices.IndexFunc(d.Sandbox, func(b boxFacts) bool { return b.Level == level && b.Why == why })
	if i < 0 {
		i, d.Sandbox = len(d.Sandbox), append(d.Sandbox, boxFacts{Level: level, Why: why})
	}
	d.Sandbox[i].Experts = append(d.Sandbox[i].Experts, card.ID)
}

// lacks adds an expert to the group that lacks the same tools.
func (d *diagnosis) lacks(card *events.Card) {
	for _, tag := range card.Tags {
		said, is := strings.CutPrefix(tag, events.ToolsTag)
		if !is {
			continue
		}
		names, why, _ := strings.Cut(said, " ")
		tools := strings.Split(names, ",")
		i := slices.IndexFunc(d.Tools, func(l lackFacts) bool { return l.Why == why && slices.Equal(l.Tools, tools) })
		if i < 0 {
			i, d.Tools = len(d.Tools), append(d.Tools, lackFacts{Tools: tools, Why: why})
		}
		d.Tools[i].Experts = append(d.Tools[i].Experts, card.ID)
	}
}

// accessOf describes the access control of a server.
func accessOf(s *bus.Server) string {
	switch {
	case !s.Login:
		return "every client that reaches the bus may do everything, also answer in the name of others: keep it on a private network, or give everyone a key and a role with `jobgraph init --secure DIR`"
	case !s.Signed && s.Demanded:
		return "the server asks for a login; answers and control events count only with a signature, and none is checked here, since JOBGRAPH_SIGNERS names no list"
	case !s.Signed:
		return "the server asks for a login; no signature is asked for, since JOBGRAPH_SIGNERS names no list here: `jobgraph init --secure DIR` makes one"
	}
	access := "the server asks for a login; answers and control events count only with a signature"
	if !s.Demanded {
		access += "; a service without JOBGRAPH_SIGNERS is not refused until `jobgraph init` was run with the key of an admin and JOBGRAPH_SIGNERS"
	}
	return access
}

// judge says which failures would lose data.
func (d *diagnosis) judge() {
	least := 0
	for _, s := range d.Streams {
		if least == 0 || s.Replicas < least {
			least = s.Replicas
		}
		if s.Full() > 0.9 {
			d.Faults = append(d.Faults, events.Fault{
				Code: events.CodeTooLarge, Field: s.Name, Message: fmt.Sprintf("the stream is %.0f %% full", 100*s.Full()), Hint: "raise its limits, or delete jobs",
			})
		}
	}
	switch {
	case least > 1:
		d.Loss = fmt.Sprintf("nothing when one of %d servers dies; power loss of all at once takes up to the sync interval", least)
	case d.Sync == "always":
		d.Loss = "nothing that was acknowledged; a broken disk takes everything, since there is one copy"
	case d.Sync == "unknown":
		d.Loss = "a killed server loses nothing; power loss takes up to the server's sync interval (2 minutes unless set); a broken disk takes everything, since there is one copy"
	default:
		d.Loss = "a killed server loses nothing; power loss takes up to " + d.Sync + "; a broken disk takes everything, since there is one copy"
	}
}

// monitorBound limits requests to the server's monitoring address.
const monitorBound = 3 * time.Second

// ask reads a monitoring page of the server into value.
func ask(ctx context.Context, monitor, page string, value any) error {
	ctx, cancel := context.WithTimeout(ctx, monitorBound)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(monitor, "/")+page, nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }() // It was only read.
	if err := json.NewDecoder(http.MaxBytesReader(nil, reply.Body, 1<<20)).Decode(value); err != nil {
		return fmt.Errorf("%s answers no JSON: %w", request.URL, err)
	}
	return nil
}

// health reads the server's health: clients get no answer about a stream that it cannot write.
func (d *diagnosis) health(ctx context.Context, monitor string) error {
	var answer struct {
		Error string `json:"error"`
	}
	err := ask(ctx, monitor, "/healthz", &answer)
	if err == nil && answer.Error != "" {
		d.Faults = append(d.Faults, events.Fault{
			Code: events.CodeUnavailable, Field: "server", Message: "it is not well", Cause: answer.Error,
			Hint: "what it could not write it refuses until it is started again: see to its disk, then start it again; nothing that was accepted is lost",
		})
	}
	return err
}

// syncInterval reads how often the server syncs its files.
func syncInterval(ctx context.Context, monitor string) (string, error) {
	var answer struct {
		Config struct {
			Interval time.Duration `json:"sync_interval"`
			Always   bool          `json:"sync_always"`
		} `json:"config"`
	}
	if err := ask(ctx, monitor, "/jsz", &answer); err != nil {
		return "", err
	}
	switch {
	case answer.Config.Always:
		return "always", nil
	case answer.Config.Interval > 0:
		return answer.Config.Interval.String(), nil
	}
	return "unknown", nil
}

func (g operations) writeDiagnosis(d *diagnosis) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "server    nats-server %s at %s, API level %d\n", d.Server.Version, d.Server.URL, d.Server.APILevel)
	sync := d.Sync
	if sync == "unknown" {
		sync += ": a server tells clients nothing of it; ask its monitoring port with --monitor http://HOST:8222"
	}
	fmt.Fprintf(&b, "sync      %s\n", sync)
	fmt.Fprintf(&b, "at risk   %s\n", d.Loss)
	fmt.Fprintf(&b, "access    %s\n", d.Access)
	for _, s := range d.Streams {
		fmt.Fprintf(&b, "stream    %-18s %d messages, %d bytes, %d copies\n", s.Name, s.Messages, s.Bytes, s.Replicas)
	}
	for _, s := range d.Services {
		fmt.Fprintf(&b, "service   %-18s %d waiting, %d in hand, %d readers\n", s.Name, s.Pending, s.Unsettled, s.Waiting)
	}
	if len(d.Gateways) > 0 {
		fmt.Fprintf(&b, "gateways  %s\n", strings.Join(d.Gateways, ", "))
	}
	if len(d.Experts) > 0 {
		fmt.Fprintf(&b, "experts   %s\n", strings.Join(d.Experts, ", "))
	}
	for _, x := range d.Expired {
		fmt.Fprintf(&b, "expired   %s\n", expiredText(x))
	}
	for _, x := range d.Sandbox {
		if x.Why != "" {
			x.Why = " (" + x.Why + ")"
		}
		fmt.Fprintf(&b, "sandbox   %-18s %s%s\n", x.Level, strings.Join(x.Experts, ", "), x.Why)
	}
	for _, x := range d.Tools {
		fmt.Fprintf(&b, "no tool   %-18s %s (%s)\n", strings.Join(x.Tools, ", "), strings.Join(x.Experts, ", "), x.Why)
	}
	for _, f := range d.Faults {
		fmt.Fprintf(&b, "FAULT     %s\n", reason(&f))
	}
	if len(d.Faults) == 0 {
		b.WriteString("all is well\n")
	}
	return g.app.printf("%s", g.app.fit(output.Clean(b.String()), 10))
}
