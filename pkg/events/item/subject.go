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
