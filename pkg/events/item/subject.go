package item

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Subjects builds the names of live items, which are stored for a while.
type Subjects struct{ of events.Names }

// LiveSubjects returns the names under the prefix of n.
func LiveSubjects(n events.Names) Subjects { return Subjects{n} }

// Stream is the name of the stream, for example JOBS_LIVE.
func (n Subjects) Stream() string { return strings.ToUpper(n.of.Prefix()) + "_LIVE" }

// All matches the items of every job.
func (n Subjects) All() string { return n.of.Prefix() + ".item.>" }

// Job matches the items of a job.
func (n Subjects) Job(job string) string { return n.SubJob(job, ">") }

// SubJob is the subject of the items of one SubJob; the body of a message is that of Encode. "*" stands for any.
func (n Subjects) SubJob(job, subjob string) string {
	return n.of.Prefix() + ".item." + job + "." + subjob
}

// In is the subject of the items of a SubJob's runs in a pool, so that permissions can name who may publish there; an empty pool
// means SubJob.
func (n Subjects) In(job, subjob, pool string) string {
	if pool == "" {
		return n.SubJob(job, subjob)
	}
	return n.SubJob(job, subjob) + "." + pool
}

// Passing is the subject, over core NATS, of what a SubJob's runs in a pool say to those who listen at the moment; an empty pool means
// events.Names.Live.
func (n Subjects) Passing(job, subjob, pool string) string {
	if pool == "" {
		return n.of.Live(job, subjob)
	}
	return n.of.Live(job, subjob) + "." + pool
}
