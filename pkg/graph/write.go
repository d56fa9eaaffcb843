package graph

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// marshal writes a state like json.Marshal: the list of SubJobs, which is last and nearly all of it, without reflection.
func (s *State) marshal() ([]byte, error) {
	front := *s
	front.SubJobs = nil
	head, err := json.Marshal(&front)
	if err != nil {
		return nil, err
	}
	const end = `null}`
	w := plainjson.NewWriter(len(head) + 256*len(s.SubJobs))
	w.Verbatim(head[:len(head)-len(end)])
	w.List(len(s.SubJobs), func(i int) { s.SubJobs[i].write(w) })
	w.Close()
	return w.Bytes()
}

func (n *SubJobState) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("id", n.ID)
	w.MustText("status", string(n.Status))
	w.Text("expert", n.Expert)
	w.Text("pool", n.Pool)
	w.Flag("pure", n.Pure)
	w.Some("former", len(n.Former) > 0, n.Former)
	w.Text("title", n.Title)
	w.Text("session", n.Session)
	w.Text("told", string(n.Told))
	w.Int("run", int64(n.Run))
	w.Flag("open", n.Open)
	w.Text("mode", string(n.Mode))
	w.Time("started", n.Started)
	w.Time("ended", n.Ended)
	plainjson.Ints(w, "deps", n.Deps)
	n.Spec.write(w)
	w.Uint("hash", n.Hash)
	w.Int("life_cycle", int64(n.LifeCycle))
	w.Int("retry_limit", int64(n.RetryLimit))
	w.Some("timeout", n.Timeout != 0, n.Timeout)
	w.Int("attempts", int64(n.Attempts))
	w.Int("rounds", int64(n.Rounds))
	w.Text("when", n.When)
	w.Texts("selects", n.Selects)
	w.Some("selected", len(n.Selected) > 0, n.Selected)
	w.Uint("result_seq", n.ResultSeq)
	w.Int("result_run", int64(n.ResultRun))
	w.Flag("given", n.Given)
	w.Flag("skipped", n.Skipped)
	plainjson.Ints(w, "lessons", n.Lessons)
	plainjson.Ints(w, "answers", n.Answers)
	w.Int("resume_of", int64(n.ResumeOf))
	w.Time("retry_at", n.RetryAt)
	w.Time("fence_at", n.FenceAt)
	w.Int("closing", int64(n.Closing))
	w.Int("fenced", int64(n.Fenced))
	w.Text("close_reason", n.CloseReason)
	w.Text("request", n.Request)
	w.Some("error", n.Error != nil, n.Error)
	w.Uint("late", n.Late)
	w.Some("versions", len(n.Versions) > 0, n.Versions)
	plainjson.Ints(w, "replaced_by", n.ReplacedBy)
	w.Close()
}

func (s *Spec) write(w *plainjson.Writer) {
	if s.Seq == 0 && s.ID == "" && s.Edits == nil {
		return
	}
	w.Key("spec")
	w.Open()
	w.MustUint("seq", s.Seq)
	w.Text("id", s.ID)
	plainjson.Ints(w, "edits", s.Edits)
	w.Close()
}
