// Package planning is the pure core of planning with a model: one piece of planning work from a sentence to a checked plan,
// an answer, a question to a person or a typed failure.
//
// A Planning is a fold. It begins with Start, which holds everything it may know (request, cards, profile, history, lessons,
// the time of day); each Fact that is applied answers the one Command that is pending; afterwards the next is. There is always
// exactly one, until that is the end. There is no clock, no chance, no I/O and no goroutine in here, and every loop has a
// limit, so whatever models and people say, planning ends once, with a reason.
//
// How a loop drives it:
//
//	s := planning.New(start, ports)            // start is journaled under the key "start" and read back from there
//	for _, f := range recorded { s.Apply(f) } // facts of this run, and of the runs that it resumes, in their order
//	for {
//		switch c := s.Pending(); c.Kind {
//		case planning.Call:        // journal the intent under c.Key, call the model, journal the Fact, s.Apply(fact)
//		case planning.Investigate: // the same with an expert or a tool; a failure is a Fact too
//		case planning.Await:       // wait a little for other cards; Fact{Key, Kind: Cards, Cards: …, Waited: true at the end}
//		case planning.Ask:         // state c.Ask (input.requested) and give the work back; the next run brings the answer
//		case planning.End:         // state c.End (graph.created, job.answered, plan.rejected); planning is over
//		}
//	}
//
// Facts are recorded, messages are not: a command's key is made of its stage and a count alone, so a call that was finished
// before a crash is answered from the journal even when prompts have changed since. A fact whose key is not the pending one
// changes nothing. An answer of a person is a fact like any other: Fact{Key: the key of the Ask, Kind: Closed, …}; the
// request's id is Start.Prefix, a dash and that key with its slash made a dash, see RequestID.
//
// Model text is read by Ports.Read, prompts are rendered by Ports.Render, plans are judged by package plan. All three are
// functions of their arguments.
package planning
