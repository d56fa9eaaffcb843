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

func (s *SubJobState) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("id", s.ID)
	w.MustText("status", string(s.Status))
	w.Text("expert", s.Expert)
	w.Text("pool", s.Pool)
	w.Flag("pure", s.Pure)
	w.Text("title", s.Title)
	w.Text("session", s.Session)
	w.Text("told", string(s.Told))
	w.Int("run", int64(s.Run))
	w.Flag("open", s.Open)
	w.Text("mode", string(s.Mode))
	w.Time("started", s.Started)
	w.Time("ended", s.Ended)
	plainjson.Ints(w, "deps", s.Deps)
	s.Spec.write(w)
	w.Uint("hash", s.Hash)
	w.Int("life_cycle", int64(s.LifeCycle))
	w.Int("retry_limit", int64(s.RetryLimit))
	w.Some("timeout", s.Timeout != 0, s.Timeout)
	w.Int("attempts", int64(s.Attempts))
	w.Int("rounds", int64(s.Rounds))
	w.Text("when", s.When)
	w.Texts("selects", s.Selects)
	w.Some("selected", len(s.Selected) > 0, s.Selected)
	w.Uint("result_seq", s.ResultSeq)
	w.Int("result_run", int64(s.ResultRun))
	w.Flag("given", s.Given)
	w.Flag("skipped", s.Skipped)
	plainjson.Ints(w, "lessons", s.Lessons)
	plainjson.Ints(w, "answers", s.Answers)
	w.Int("resume_of", int64(s.ResumeOf))
	w.Time("retry_at", s.RetryAt)
	w.Time("fence_at", s.FenceAt)
	w.Int("closing", int64(s.Closing))
	w.Int("fenced", int64(s.Fenced))
	w.Text("close_reason", s.CloseReason)
	w.Text("request", s.Request)
	w.Some("error", s.Error != nil, s.Error)
	w.Uint("late", s.Late)
	w.Some("versions", len(s.Versions) > 0, s.Versions)
	plainjson.Ints(w, "replaced_by", s.ReplacedBy)
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
