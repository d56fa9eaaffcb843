package graph

import (
	"cmp"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// waits are a job's requests for input: questions to people, and times to wait for. It alone writes State.Inputs and State.Asked.
type waits struct {
	job *State
	// inputs has the requests by id: the state of open ones, nil for closed ones.
	inputs map[string]*InputState
	// due lists the requests that may have a command pending.
	due []*InputState
	// asking counts steps that wait for input.
	asking int
}

// attend puts a request on the list of those that may have a command pending.
func (w *waits) attend(in *InputState) {
	if !in.due {
		in.due = true
		w.due = append(w.due, in)
	}
}

// open makes a node wait for a request.
func (w *waits) open(in *InputState, n *node) {
	in.at = len(w.job.Inputs)
	w.job.Inputs = append(w.job.Inputs, in)
	w.inputs[in.Request] = in
	n.Request, n.ResumeOf = in.Request, in.Run
	if n.step() {
		w.asking++
	}
	w.attend(in)
}

// settle removes a request from the open ones.
func (w *waits) settle(in *InputState) {
	last := len(w.job.Inputs) - 1
	w.job.Inputs[in.at] = w.job.Inputs[last]
	w.job.Inputs[in.at].at = in.at
	w.job.Inputs[last] = nil
	w.job.Inputs = w.job.Inputs[:last]
	w.useUp(in.Request)
}

// useUp records that a request was closed, even an unknown one, so that it can no longer be answered.
func (w *waits) useUp(request string) {
	w.inputs[request] = nil
	w.job.Asked = append(w.job.Asked, request)
}

func (w *waits) release(n *node) {
	n.Request = ""
	if n.step() {
		w.asking--
	}
}

// withdraw closes the question of a node, because the answer is no longer needed.
func (w *waits) withdraw(n *node) {
	if n.Request == "" {
		return
	}
	if in := w.inputs[n.Request]; in != nil && in.Closing == "" {
		in.Closing = events.Cancelled
		w.attend(in)
	}
	w.release(n)
}

// kind returns what an open request asks for; "" if it is not open.
func (w *waits) kind(request string) events.InputKind {
	if in := w.inputs[request]; in != nil {
		return in.Kind
	}
	return ""
}

func (w *waits) expire(request string) Effect {
	in := w.inputs[request]
	if in == nil || in.Closing != "" {
		return ignored("no request %q is open", request)
	}
	in.Closing = events.Expired
	w.attend(in)
	return applied
}

func (w *waits) pending(out []Command) []Command {
	keep := w.due[:0]
	for _, in := range w.due {
		if w.inputs[in.Request] != in {
			continue
		}
		id := CommandID{Kind: CloseInput, SubJob: in.SubJob, Run: in.Run, Key: in.Request}
		switch {
		case in.Closing != "" && !in.sent:
			closed := &events.InputClosed{Action: in.Closing}
			if in.Closing == events.Expired {
				closed.Answer = in.Default
			}
			out = append(out, Command{CommandID: id, Fact: events.KindInputClosed, Data: closed})
		case in.Closing == "" && !in.Expires.IsZero() && !in.armed:
			id.Kind, id.Key = ArmTimer, timerID(timerInput, in.Request, in.Run)
			out = append(out, Command{CommandID: id, At: in.Expires})
		default:
			in.due = false
			continue
		}
		keep = append(keep, in)
	}
	w.due = keep
	return out
}

// view sorts the open requests by creation.
func (w *waits) view() {
	slices.SortFunc(w.job.Inputs, func(a, b *InputState) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, in := range w.job.Inputs {
		in.at = i
	}
}

// restore derives what is not saved.
func (w *waits) restore() {
	for i, in := range w.job.Inputs {
		in.at = i
		w.inputs[in.Request] = in
		w.attend(in)
	}
	for _, request := range w.job.Asked {
		w.inputs[request] = nil
	}
}

// sent marks that this process has delivered a request.
func (w *waits) sent(request string) {
	if in := w.inputs[request]; in != nil {
		in.sent = true
	}
}

func (w *waits) armed(request string) {
	if in := w.inputs[request]; in != nil {
		in.armed = true
	}
}
