package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// chat is a session at the terminal: each input line is a message to it.
type chat struct {
	runs
	c      *client.Client
	d      *dialog
	about  events.Request // The fields that the requests of all messages share.
	plain  bool           // Whether transitions are left out.
	latest string         // The latest job.
	open   bool           // Whether the latest job is under way.
	jobs   []string
	spent  events.Spent
}

func (g runs) chatCommand() *cobra.Command {
	var f runFlags
	steps := false
	c := &cobra.Command{
		Use: "chat [MESSAGE…]", Short: "Talk to the planner and its experts in one session",
		Long: "Each line is a message to a session, which knows what was said before. A line that begins with / is a command:\n" + chatHelp +
			"Ctrl-D ends it; `chat --session ID` goes on with a session of a bus or of a --store.",
		RunE: func(_ *cobra.Command, args []string) error { return g.chat(&f, strings.Join(args, " "), steps) },
	}
	flags := c.Flags()
	f.folder.declare(flags)
	flags.StringVar(&f.session, "session", "", "the session to continue (default: a new one)")
	flags.StringVar(&f.user, "user", "", "the user for whom the jobs run")
	flags.StringVar(&f.profile, "profile", "", "the planner's profile")
	flags.StringVar(&f.expert, "expert", "", "the expert that gets every message, without planning")
	flags.StringVar(&f.model, "model", "", "the model that plans; an embedded chat also knows fake, a scripted one that costs nothing")
	flags.StringArrayVar(&f.experts, "experts", nil, "expert card, or folder of them, for an embedded chat; repeatable")
	flags.StringVar(&f.store, "store", "", "keep the embedded chat in this folder (default: a temporary one)")
	flags.BoolVar(&f.embedded, "embedded", false, "use an embedded bus, even if NATS_URL is set or a bus answers")
	flags.BoolVar(&steps, "steps", false, "show the steps of each job")
	return c
}

// chatHelp lists the commands of a chat.
const chatHelp = "  /new MESSAGE    a message that is no answer to what is asked\n" +
	"  /jobs           the jobs of this chat\n" +
	"  /why [ID]       why a job is not running; the latest if ID is left out\n" +
	"  /files [ID]     the files of a job\n" +
	"  /save DIR       write the files of the latest result into a folder\n" +
	"  /model [NAME]   the model that plans: show or choose it\n" +
	"  /expert [NAME]  the expert that gets every message: choose one, or the planner again\n" +
	"  /budget         what was spent so far\n" +
	"  /help, /quit\n"

// chat holds a chat on the bus that answers, or else on an embedded one.
func (g runs) chat(f *runFlags, first string, steps bool) error {
	if !g.app.sys.Typing {
		return usageError{errors.New("chat talks to a person at a terminal; a program submits jobs with `jobgraph run --session ID`")}
	}
	id, err := client.NewID()
	if err != nil {
		return err
	}
	session := &chat{runs: g, plain: !steps, about: events.Request{Session: cmp.Or(f.session, id), User: f.user, Profile: f.profile, Expert: f.expert}}
	g.app.note("session %s\n/help lists the commands, Ctrl-D ends the chat", session.about.Session) // Print it at once: services take a while to start.
	if !f.embedded && f.store == "" {
		if session.c, err = g.answering(); err != nil {
			return err
		}
	}
	if session.c != nil {
		defer session.c.Close()
		session.choose(f.model)
		err := session.talk(first)
		session.leave()
		return err
	}
	k, err := g.startForRun(f)
	if err != nil {
		return err
	}
	free := g.bind(k)
	if _, temporary := k.Server().Store(); temporary {
		g.app.note("this session ends with the chat; `jobgraph chat --store DIR` keeps it")
	} else {
		defer g.app.note("`%s chat --store %s --session %s` goes on with it", cmp.Or(g.app.sys.Name, "jobgraph"), word(anywhere(f.store)), session.about.Session)
	}
	if session.c, err = client.Connect(g.app.soft, k.Options()); err == nil {
		g.app.programless(session.c)
		err = session.talk(first)
		session.c.Close()
	}
	free()
	return g.unbound(err, k.Stop())
}

// leave says how to go on with a session on a bus, and with a job of it that is under way.
func (s *chat) leave() {
	if s.open {
		s.app.note("job %s goes on; `jobgraph watch %[1]s` shows it, `jobgraph stop %[1]s` stops it", s.latest)
	}
	if s.latest != "" {
		s.app.note("`jobgraph chat --session %s` goes on with this session", s.about.Session)
	}
}

// mostBefore is how many items of a session are shown when a chat continues it.
const mostBefore = 20

// before shows what was said in the session and remembers its jobs.
func (s *chat) before(ctx context.Context) error {
	known, err := s.c.Sessions().As(s.about.User).Get(ctx, s.about.Session)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	page, err := s.c.Conversation(s.about.Session, s.about.User).Page(ctx, 0, mostBefore)
	if err != nil {
		return err
	}
	for _, j := range known.Jobs {
		s.jobs, s.latest = append(s.jobs, j.ID), j.ID
	}
	if page.Earlier {
		s.app.note("earlier messages: `jobgraph sessions show %s --before %d`", s.about.Session, page.Items[0].Seq)
	}
	for _, e := range joblog.Latest(page.Items) {
		if err := s.app.sessions.tell(&e); err != nil {
			return err
		}
	}
	return nil
}

// choose sets the model that plans further messages.
func (s *chat) choose(model string) {
	s.about.Models = nil
	if model != "" {
		s.about.Models = map[string]string{"planner": model}
	}
}

// talk takes messages until the input ends.
func (s *chat) talk(first string) error {
	if s.d = s.app.openDialog(s.about.User); s.d == nil {
		return usageError{errors.New("chat needs a terminal without -q, -o and --no-input")}
	}
	ctx := s.app.soft
	if err := s.before(ctx); err != nil {
		return err
	}
	for line := first; ; line = "" {
		if strings.TrimSpace(line) == "" {
			var err error
			if line, err = s.d.line(ctx, "\nyou> "); errors.Is(err, errLeft) {
				return s.app.printf("\n")
			} else if err != nil {
				return err
			}
		}
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "/quit" || words[0] == "/exit":
			return nil
		case strings.HasPrefix(line, "/"):
			if err := s.command(ctx, words); err != nil {
				return err
			}
		default:
			if err := s.message(ctx, strings.TrimSpace(line), false); err != nil {
				return err
			}
		}
	}
}

// message submits a message and shows its job. A job that fails does not end the chat. A fresh one answers no question of the session.
func (s *chat) message(ctx context.Context, text string, fresh bool) error {
	r := s.about
	r.Goal, r.New = text, fresh
	receipt, err := s.c.Ask(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.app.complain(err.Error())
		return nil
	}
	s.answered(&receipt, "/new MESSAGE")
	s.latest, s.open = receipt.JobID, true
	if !slices.Contains(s.jobs, s.latest) {
		s.jobs = append(s.jobs, s.latest)
	}
	talk, quiet := s.app.views.listen(ctx, s.c, s.latest)
	defer quiet()
	show := display{form: s.app.views.display(), out: s.app.sys.Stdout, talk: talk, brief: s.plain}
	if s.plain && show.form != watch.Tree {
		show.form = watch.Quiet
	}
	h, err := s.d.converse(ctx, s.c, func(from uint64, done func(h *joblog.Log) bool) (*joblog.Log, error) {
		show.from = from
		return s.app.views.watchUntil(ctx, s.c, s.latest, show, done)
	})
	if err != nil {
		return err
	}
	if !over(h) {
		s.app.note("job %s waits; the next message answers it", s.latest)
		return nil
	}
	s.open = false
	v := h.Job.View()
	s.spent.Tokens += v.Cost.Tokens
	s.spent.CostUSD += v.Cost.CostUSD
	var ended outcome
	if err := s.finish(h, s.c, talk); err != nil && !errors.As(err, &ended) {
		return err
	}
	if len(h.JobArtifacts()) > 0 {
		s.app.note("/save DIR writes its files into a folder")
	}
	return nil
}

// command executes a line that begins with a slash.
func (s *chat) command(ctx context.Context, words []string) error {
	job, argument := s.latest, strings.Join(words[1:], " ")
	if argument != "" {
		job = argument
	}
	var err error
	switch words[0] {
	case "/help":
		return s.app.printf("%s", chatHelp)
	case "/new":
		if argument != "" {
			return s.message(ctx, argument, true)
		}
		err = errors.New("write the message behind it: /new MESSAGE")
	case "/jobs":
		for _, id := range s.jobs {
			if err := s.app.printf("%s\n", id); err != nil {
				return err
			}
		}
		return nil
	case "/model":
		if argument != "" {
			s.choose(argument)
		}
		return s.app.printf("%s plans\n", cmp.Or(s.about.Models["planner"], "the default model"))
	case "/expert":
		s.about.Expert = argument
		return s.app.printf("%s gets the messages\n", output.Visible(cmp.Or(argument, "the planner")))
	case "/budget":
		return s.app.printf("%s\n", cmp.Or(spent(s.spent), "nothing was spent"))
	case "/why":
		err = s.see(ctx, job, func(h *joblog.Log) error { return s.app.views.why(h, s.c, "") })
	case "/files":
		err = s.see(ctx, job, func(h *joblog.Log) error { return s.app.write(artifactTable(h.Artifacts(""))) })
	case "/save":
		err = s.see(ctx, s.latest, func(h *joblog.Log) error { return s.save(ctx, h, argument) })
	default:
		s.app.complain(fmt.Sprintf("there is no command %.40s; /help lists them, and a space before the / makes it a message", words[0]))
	}
	if err != nil && ctx.Err() == nil {
		s.app.complain(err.Error())
		return nil
	}
	return err
}

// see reads a job and passes it to show.
func (s *chat) see(ctx context.Context, job string, show func(h *joblog.Log) error) error {
	if job == "" {
		return errors.New("there is no job yet")
	}
	h, err := s.app.load(ctx, s.c, target{job: job})
	if err != nil {
		return err
	}
	return show(h)
}

// save writes the files of a result into a folder.
func (s *chat) save(ctx context.Context, h *joblog.Log, dir string) error {
	switch {
	case dir == "":
		return errors.New("name the folder: /save DIR")
	case len(h.JobArtifacts()) == 0:
		return fmt.Errorf("the result of job %s has no files; /files shows those of its steps", h.Job.ID)
	}
	return s.app.files.save(ctx, h, s.c, dir)
}
