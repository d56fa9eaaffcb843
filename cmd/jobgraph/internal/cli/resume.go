package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// interruptDrain is how long calls in progress have to finish after Ctrl-C, unless a setting says otherwise.
const interruptDrain = time.Second

// resumable checks the flags of a run that continues a job of a store.
func (g runs) resumable(f *runFlags, args []string) error {
	switch {
	case f.store == "":
		return usageError{errors.New("--resume continues a job of a --store; on a running bus use `jobgraph watch JOB`")}
	case len(args) > 0 || f.file != "" || f.plan != "":
		return usageError{errors.New("--resume continues a job as it is: leave out the goal, -f and --plan")}
	}
	var err error
	f.resume, err = jobOf("run --resume", f.resume, "jobgraph run --store DIR --resume JOB")
	return err
}

// goOn follows a job of the store of an embedded run to its end.
func (g runs) goOn(f *runFlags) error {
	k, err := g.startForRun(f)
	if err != nil {
		return err
	}
	free := g.bind(k)
	c, err := client.Connect(g.app.soft, k.Options())
	if err == nil {
		if err = g.app.views.admission(g.app.soft, c, f.resume); err == nil {
			err = g.attend(k, c, f.resume, f)
		}
		c.Close()
	}
	free()
	return g.unbound(err, k.Stop())
}

// attend follows a job of an embedded run to its end, with the console if it is open. A job that has not ended, because of Ctrl-C
// or because a person left its question open, is kept, and the command that continues it is printed.
func (g runs) attend(k *stack.Stack, c *client.Client, id string, f *runFlags) error {
	if f.open {
		return g.linger(k, id, f, func() error { return g.attendTo(k, c, id, f) })
	}
	return g.attendTo(k, c, id, f)
}

// attendTo is like attend, without a console.
func (g runs) attendTo(k *stack.Stack, c *client.Client, id string, f *runFlags) error {
	talk, quiet := g.app.views.listen(g.app.soft, c, id)
	defer quiet()
	h, err := g.follow(c, id, f.user, talk)
	switch cause := context.Cause(g.app.soft); {
	case errors.Is(cause, errUnread), errors.Is(cause, errInterrupted) && f.stop:
		g.stopNow(c, id)
	case errors.Is(cause, errInterrupted):
		g.kept(k, id, f)
	case err == nil && g.app.sys.Typing && !over(h):
		g.kept(k, id, f)
		return outcome(ExitWaiting)
	}
	if err != nil {
		return err
	}
	return g.finishInto(h, c, talk, f.artifacts, f.store != "")
}

// kept keeps the store of a run and prints how to continue its job.
func (g runs) kept(k *stack.Stack, id string, f *runFlags) {
	g.app.note("job %s is kept as it stands; go on with it by\n  %s", id, g.resumption(k.Server().Keep(), id, f))
}

// resumption returns the command that continues a job of a store.
func (g runs) resumption(store, id string, f *runFlags) string {
	words := []string{cmp.Or(g.app.sys.Name, "jobgraph")}
	add := func(name, value string) {
		if value != "" {
			words = append(words, name, word(value))
		}
	}
	add("--config", anywhere(g.app.settings.Config))
	if g.app.given("prefix") {
		add("--prefix", g.app.settings.Prefix)
	}
	words = append(words, "run")
	add("--store", anywhere(store))
	add("--resume", id)
	add("--model", f.model)
	if f.beside {
		add("--experts", anywhere(besideExperts(f.file)))
	}
	for _, path := range f.experts {
		add("--experts", anywhere(path))
	}
	add("--artifacts", anywhere(f.artifacts))
	add("--user", f.user)
	for _, name := range f.folder.variables {
		add("--trust-env", name)
	}
	if f.folder.trust {
		words = append(words, "--trust")
	}
	if f.folder.leave {
		words = append(words, "--no-folder")
	}
	return strings.Join(words, " ")
}

// anywhere makes a path absolute, so that it works in every folder; "" stays.
func anywhere(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}

// plainWord matches words that need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// word quotes a text for a shell.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `'\''`))
}
