package events

import (
	"strconv"
	"strings"
)

// DefaultPrefix is the first token of every subject; streams and buckets bear it in upper case.
const DefaultPrefix = "jobs"

// Names builds and reads all names on the bus for one prefix. The zero value is not usable; NewNames makes one.
type Names struct {
	prefix string
	// Log, Intake, Work, Journal, Timers and Aside are the streams.
	Log, Intake, Work, Journal, Timers, Aside string
	// State, Experts, Sessions and Plans are key-value buckets; Blobs is the object store.
	State, Experts, Sessions, Plans, Blobs string
}

// NewNames gives the names under a prefix, which must be a valid id; DefaultPrefix when empty.
func NewNames(prefix string) Names {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	up := strings.ToUpper(prefix)
	return Names{
		prefix: prefix,
		Log:    up, Intake: up + "_INTAKE", Work: up + "_WORK", Journal: up + "_JOURNAL", Timers: up + "_TIMERS", Aside: up + "_DLQ",
		State: up + "_STATE", Experts: up + "_EXPERTS", Sessions: up + "_SESSIONS", Plans: up + "_PLANS", Blobs: up + "_BLOBS",
	}
}

// Prefix is the first token of all subjects.
func (n Names) Prefix() string { return n.prefix }

// Request is where anybody publishes a job request.
func (n Names) Request() string { return n.prefix + ".request" }

// Rejected is where a rejection of a request published without a reply subject is announced (core NATS).
func (n Names) Rejected() string { return n.prefix + ".rejected" }

// SetAside is where a message that no service could handle is kept: kind is "request" or "work", seq its place in its queue.
func (n Names) SetAside(kind string, seq uint64) string {
	return n.prefix + ".dlq." + kind + "." + strconv.FormatUint(seq, 10)
}

// AllAside matches everything that was set aside.
func (n Names) AllAside() string { return n.prefix + ".dlq.>" }

// API is the request-reply subject of a verb, "submit" for one.
func (n Names) API(verb string) string { return n.prefix + ".api." + verb }

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

// Control is the one subject of a job's control events.
func (n Names) Control(job string) string { return n.job(job) + "control" }

// Event is the subject of a fact of a job; ids are the tokens behind the verb.
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

// JournalOf is the journal of one SubJob.
func (n Names) JournalOf(job, subjob string) string {
	return n.prefix + ".journal." + job + "." + subjob
}

// JobJournal matches the journals of a job.
func (n Names) JobJournal(job string) string { return n.prefix + ".journal." + job + ".>" }

// AllJournals matches every journal.
func (n Names) AllJournals() string { return n.prefix + ".journal.>" }

// Timer is where a timer is armed.
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

// Cancel is where a job (empty subjob) or one SubJob is told to stop at once, over core NATS.
func (n Names) Cancel(job, subjob string) string { return n.beside("cancel", job, subjob) }

// Live is where tokens and progress of a SubJob pass by, over core NATS.
func (n Names) Live(job, subjob string) string { return n.beside("live", job, subjob) }

func (n Names) beside(what, job, subjob string) string {
	if subjob == "" {
		return n.prefix + "." + what + "." + job
	}
	return n.prefix + "." + what + "." + job + "." + subjob
}

// Address is what a subject of the log says: which job, which kind and, for facts about a run, which SubJob and run.
type Address struct {
	Job     string // Job is the job's id.
	Kind    Kind   // Kind is empty on the control subject, where the envelope says it.
	Control bool   // Control is true on the job's control subject.
	// SubJob and Run are set for facts about one run.
	SubJob string
	Run    int
	ID     string // ID is the token behind the verb of any other fact: the request, the timer, the turn.
}

// Parse reads a subject of the log; ok is false when it is not one.
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
