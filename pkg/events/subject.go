package events

import (
	"strconv"
	"strings"
)

// DefaultPrefix is the first token of every subject; the names of streams and buckets begin with it in upper case.
const DefaultPrefix = "jobs"

// Names builds and parses all names on the bus for one prefix. The zero value is not usable; NewNames makes one.
type Names struct {
	prefix string
	// Log, Intake, Work, Journal, Timers and Aside are the streams.
	Log, Intake, Work, Journal, Timers, Aside string
	// State, Experts, Sessions, Plans and Memory are key-value buckets; Blobs is the object store.
	State, Experts, Sessions, Plans, Memory, Blobs string
}

// NewNames returns the names under a prefix, which must be a valid id; empty means DefaultPrefix.
func NewNames(prefix string) Names {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	up := strings.ToUpper(prefix)
	return Names{
		prefix: prefix,
		Log:    up, Intake: up + "_INTAKE", Work: up + "_WORK", Journal: up + "_JOURNAL", Timers: up + "_TIMERS", Aside: up + "_DLQ",
		State: up + "_STATE", Experts: up + "_EXPERTS", Sessions: up + "_SESSIONS", Plans: up + "_PLANS", Memory: up + "_MEMORY", Blobs: up + "_BLOBS",
	}
}

// Prefix returns the first token of all subjects.
func (n Names) Prefix() string { return n.prefix }

// Request is the subject for job requests; any client may publish there.
func (n Names) Request() string { return n.prefix + ".request" }

// Rejected is the subject that announces rejections of requests without a reply subject (core NATS).
func (n Names) Rejected() string { return n.prefix + ".rejected" }

// SetAside is the subject of a dead letter: kind is "request" or "work", seq the message's sequence in its queue. The pool of work,
// or the target of a webhook, follows as a further token.
func (n Names) SetAside(kind string, seq uint64) string {
	return n.prefix + ".dlq." + kind + "." + strconv.FormatUint(seq, 10)
}

// AllAside matches all dead letters.
func (n Names) AllAside() string { return n.prefix + ".dlq.>" }

// API is the request-reply subject of a verb, such as "submit".
func (n Names) API(verb string) string { return n.prefix + ".api." + verb }

// Card is where a runner of a pool asks for the card of its expert to be written.
func (n Names) Card(pool, expert string) string { return n.prefix + ".card." + pool + "." + expert }

// Keep is where a program outside the engine asks for a key of a bucket to be written.
func (n Names) Keep(bucket, key string) string { return n.prefix + ".keep." + bucket + "." + key }

// JobEvents matches every event of a job in the log.
func (n Names) JobEvents(job string) string { return n.job(job) + ">" }

// ShardEvents matches every event of one shard.
func (n Names) ShardEvents(shard int) string {
	return n.prefix + ".event." + strconv.Itoa(shard) + ".>"
}

// AllEvents matches every event of every job.
func (n Names) AllEvents() string { return n.prefix + ".event.>" }

func (n Names) job(job string) string {
	return n.prefix + ".event." + strconv.Itoa(ShardOf(job)) + "." + job + "."
}

// Control is the single subject of a job's control events.
func (n Names) Control(job string) string { return n.job(job) + "control" }

// Event is the subject of a fact of a job; ids are the tokens after the verb.
func (n Names) Event(job string, k Kind, ids ...string) string {
	if byKind[k].Control {
		return n.Control(job)
	}
	s := n.job(job) + string(k)
	for _, id := range ids {
		s += "." + id
	}
	return s
}

// RunEvent is the subject of a fact about one run of a SubJob.
func (n Names) RunEvent(job string, k Kind, subjob string, run int) string {
	return n.job(job) + string(k) + "." + subjob + "." + strconv.Itoa(run)
}

// RunEventOf is RunEvent with the pool of the run as the last token, so that permissions can say who may publish it; an empty pool
// leaves it out.
func (n Names) RunEventOf(job string, k Kind, subjob string, run int, pool string) string {
	if pool == "" {
		return n.RunEvent(job, k, subjob, run)
	}
	return n.RunEvent(job, k, subjob, run) + "." + pool
}

// Template is the form of the subjects of a kind, with names in braces for what differs.
func (n Names) Template(d *Definition) string {
	job := n.prefix + ".event.{shard}.{job}."
	switch {
	case d.Control:
		return job + "control"
	case d.Run:
		return job + string(d.Kind) + ".{subjob}.{run}"
	case d.Kind == KindInputClosed:
		return job + string(d.Kind) + ".{request}"
	case d.Kind == KindTimerFired:
		return job + string(d.Kind) + ".{timer}"
	case d.Skippable:
		return job + string(d.Kind) + ".{turn}"
	}
	return job + string(d.Kind)
}

// WorkFor is the subject of one piece of work.
func (n Names) WorkFor(pool, expert, job, subjob string, run int) string {
	return n.prefix + ".work." + pool + "." + expert + "." + job + "." + subjob + "." + strconv.Itoa(run)
}

// PoolWork matches the work of a pool.
func (n Names) PoolWork(pool string) string { return n.prefix + ".work." + pool + ".>" }

// AllWork matches every piece of work.
func (n Names) AllWork() string { return n.prefix + ".work.>" }

// JobWork matches all work of a job, in any pool.
func (n Names) JobWork(job string) string { return n.prefix + ".work.*.*." + job + ".>" }

// JournalOf is the subject of the journal of one SubJob.
func (n Names) JournalOf(job, subjob string) string {
	return n.prefix + ".journal." + job + "." + subjob
}

// JournalIn is the subject of the records of a SubJob's runs in a pool, so that permissions can name who may publish there; an
// empty pool means JournalOf.
func (n Names) JournalIn(job, subjob, pool string) string {
	if pool == "" {
		return n.JournalOf(job, subjob)
	}
	return n.JournalOf(job, subjob) + "." + pool
}

// ParseJournal parses the subject of a journal; pool is empty if it names none. ok is false if it is not one.
func (n Names) ParseJournal(subject string) (job, subjob, pool string, ok bool) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".journal.")
	job, rest, found := strings.Cut(rest, ".")
	subjob, pool, pooled := strings.Cut(rest, ".")
	return job, subjob, pool, ok && found && ValidToken(job) && ValidToken(subjob) && (!pooled || ValidToken(pool))
}

// JobJournal matches the journals of a job.
func (n Names) JobJournal(job string) string { return n.prefix + ".journal." + job + ".>" }

// AllJournals matches every journal.
func (n Names) AllJournals() string { return n.prefix + ".journal.>" }

// Timer is the subject on which a timer is armed.
func (n Names) Timer(job, timer string) string {
	return n.prefix + ".timer." + strconv.Itoa(ShardOf(job)) + "." + job + "." + timer
}

// Due is the target of an armed timer.
func (n Names) Due(job, timer string) string {
	return n.prefix + ".due." + strconv.Itoa(ShardOf(job)) + "." + job + "." + timer
}

// AllTimers matches every armed timer.
func (n Names) AllTimers() string { return n.prefix + ".timer.>" }

// AllDue matches every due timer.
func (n Names) AllDue() string { return n.prefix + ".due.>" }

// JobTimers matches the armed timers of a job.
func (n Names) JobTimers(job string) string { return n.Timer(job, ">") }

// Cancel is the subject on which a job (empty subjob) or one SubJob is cancelled at once, over core NATS.
func (n Names) Cancel(job, subjob string) string { return n.beside("cancel", job, subjob) }

// Live is the subject of a SubJob's tokens and progress, over core NATS.
func (n Names) Live(job, subjob string) string { return n.beside("live", job, subjob) }

func (n Names) beside(what, job, subjob string) string {
	if subjob == "" {
		return n.prefix + "." + what + "." + job
	}
	return n.prefix + "." + what + "." + job + "." + subjob
}

// Address is a parsed subject of the log.
type Address struct {
	Job     string // Job is the job's id.
	Kind    Kind   // Kind is empty for the control subject, where only the envelope contains it.
	Control bool   // Control is true on the job's control subject.
	// SubJob and Run are set for facts about one run.
	SubJob string
	Run    int
	Pool   string // Pool is the pool of the run, if the subject names it.
	ID     string // ID is the token after the verb of any other fact: the request, the timer, the turn.
}

// Parse parses a subject of the log; ok is false if it is not one.
func (n Names) Parse(subject string) (a Address, ok bool) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".event.")
	if !ok {
		return a, false
	}
	t := strings.Split(rest, ".")
	if len(t) < 3 || !ValidToken(t[1]) || t[0] != strconv.Itoa(ShardOf(t[1])) {
		return a, false
	}
	a.Job = t[1]
	if len(t) == 3 {
		a.Control = t[2] == "control"
		return a, a.Control
	}
	a.Kind = Kind(t[2] + "." + t[3])
	if byKind[a.Kind].Run {
		if len(t) == 7 && ValidToken(t[6]) {
			a.Pool, t = t[6], t[:6]
		}
		return a, len(t) == 6 && a.parseRun(t[4], t[5])
	}
	if len(t) > 4 {
		a.ID = strings.Join(t[4:], ".")
	}
	return a, true
}

func (a *Address) parseRun(subjob, run string) bool {
	n, err := strconv.Atoi(run)
	a.SubJob, a.Run = subjob, n
	return err == nil && n > 0 && ValidToken(subjob) && strconv.Itoa(n) == run
}
