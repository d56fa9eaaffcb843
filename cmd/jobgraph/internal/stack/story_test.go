package stack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// mostTold is how many of the last events of the log a story tells.
const mostTold = 60

// story says why something may not have come: the last events of the log, each with the reason if its job ignores it, the work that
// waits, the experts, and what is set aside or in quarantine.
func (s *siege) story() string {
	ctx, b, n := s.Context(), s.admin.Bus(), s.admin.Names()
	log, err := b.Streams().Info(ctx, n.Log)
	if err != nil {
		return "no log: " + err.Error()
	}
	jobs, tale := map[string]bool{}, map[uint64]string{}
	first := max(log.FirstSeq, log.LastSeq-min(log.LastSeq, mostTold)+1)
	for seq := first; seq <= log.LastSeq; seq++ {
		e, err := b.Log().EventAt(ctx, seq)
		if err != nil {
			tale[seq] = err.Error()
			continue
		}
		jobs[e.Job] = true
		about := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", e.Job, e.Kind, e.Key, e.SubJob)), " ")
		tale[seq] = fmt.Sprintf("%s %s run %d pool %q source %q %.300s", e.Time.Format("05.000"), about, e.Run, e.Pool, e.Source, must(json.Marshal(e.Data)))
	}
	for job := range jobs {
		s.judge(job, tale)
	}
	var all strings.Builder
	for _, seq := range slices.Sorted(maps.Keys(tale)) {
		if seq >= first {
			fmt.Fprintf(&all, "%d %s\n", seq, tale[seq])
		}
	}
	work, err := b.Streams().Subjects(ctx, n.Work, n.AllWork())
	fmt.Fprintf(&all, "work: %q %v\n", slices.Sorted(maps.Keys(work)), err)
	experts, err := b.Experts().Keys(ctx)
	fmt.Fprintf(&all, "experts: %q %v\n", experts, err)
	dead, err := s.admin.DeadLetters().List(ctx)
	for _, d := range dead[max(0, len(dead)-mostTold):] {
		fmt.Fprintf(&all, "dead letter: %s %s: %s\n", d.ID, d.Subject, d.Fault.Error())
	}
	fmt.Fprintf(&all, "%d dead letters, %v", len(dead), err)
	return all.String()
}

// judge adds to the events of a job why they changed nothing.
func (s *siege) judge(job string, tale map[uint64]string) {
	l := joblog.New()
	for e, err := range s.admin.Events(s.Context(), job, 0) {
		if err == nil {
			err = l.Step(e)
		}
		if err != nil {
			tale[e.Seq] += ": " + err.Error()
			return
		}
		if reason, ok := l.Ignored(); ok {
			tale[e.Seq] += ": ignored: " + reason
		}
	}
}
