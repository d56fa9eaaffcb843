package graph

import "github.com/jobgraph/jobgraph/pkg/events"

// ChildSession is the session of a SubJob that was handed off: one that nobody else can have, the same for every run.
func ChildSession(job, subjob string) string { return job + "~" + subjob }

// tellSession owes the beginning of a handed-off SubJob's session when its first run is issued, and its end when the SubJob
// first comes to one, a bad one too. What runs again later runs in the same session, and is not told.
func (j *Job) tellSession(n *node) {
	next := events.KindSessionStarted
	switch {
	case n.Told == "" && n.Status == events.Ready:
	case n.Told == events.KindSessionStarted && !n.live():
		next = events.KindSessionEnded
	default:
		return
	}
	n.Told = next
	j.owe(next, n.ID, events.SessionMoved{Session: n.Session, Thread: j.Thread, SubJob: n.ID, Status: n.Status, Cause: j.now.Seq})
}
