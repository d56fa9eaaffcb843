// Package planning is the pure core of planning with a model. It takes one piece of planning work from a sentence to a
// checked plan, an answer, a question to a person or a typed failure.
//
// A Planning is a fold. It begins with Start, which holds everything that it may know (request, cards, profile, history,
// lessons, the time of day). There is always exactly one pending Command; each applied Fact answers it and leads to the
// next, until the command is End. The package has no clock, randomness, I/O or goroutine, and every loop has a limit, so
// planning ends exactly once, with a reason, whatever models and people say.
//
// How a loop drives it:
//
//	s := planning.New(start, ports)            // start is journaled under the key "start" and read back from there
//	for _, f := range recorded { s.Apply(f) } // facts of this run and of the runs that it resumes, in order
//	for {
//		switch c := s.Pending(); c.Kind {
//		case planning.Call:        // journal the intent under c.Key, call the model, journal the Fact, s.Apply(fact)
//		case planning.Investigate: // the same with an expert or a tool; a failure is a Fact too
//		case planning.Await:       // wait a little for other cards; Fact{Key, Kind: Cards, Cards: …, Waited: true at the end}
//		case planning.Ask:         // publish c.Ask (input.requested) and give the work back; the next run brings the answer
//		case planning.End:         // publish c.End (graph.created, job.answered, plan.rejected); planning is over
//		}
//	}
//
// Facts are recorded, messages are not. A command's key consists of its stage and a count, so a call that finished before a
// crash is answered from the journal even if prompts have changed since. A fact whose key is not the pending one changes
// nothing. A person's answer is a fact like any other: Fact{Key: the key of the Ask, Kind: Closed, …}. The id of their
// request is RequestID of that key.
//
// Ports.Read parses model text, Ports.Render renders prompts, and package plan checks plans. All three depend on nothing
// but their arguments.
package planning
