package recur

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Action is the kind of a command.
type Action string

// The actions of commands.
const (
	Arm   Action = "arm"   // Arm the timer of a due time.
	Start Action = "start" // Submit the job of a run, and publish that it was admitted, rejected or late.
	Stop  Action = "stop"  // Ask the job of a run to stop.
	Look  Action = "look"  // Publish the end of a run whose job no longer exists.
	Erase Action = "erase" // Remove timers and facts of a deleted schedule.
)

// Command is something that the state requires. Equal commands are the same command.
type Command struct {
	Action Action // Action says what to do.
	Key    string // Key is the key of the run or of the due time.
	// At is when a timer fires, or the due time of a run to start.
	At time.Time
	// By is the time by which a run must begin, otherwise it is late; zero for one that may begin at any time.
	By time.Time
}

// Pending returns the commands that the state requires and this process has not executed. A fact makes each command unnecessary;
// until then it is pending in other processes as well.
func (p *Plan) Pending() []Command {
	if p.Blocked != "" && p.Status != schedule.Gone {
		return nil
	}
	var owed []Command
	sent := map[Command]bool{} // Commands that are no longer needed can be forgotten.
	owe := func(c Command) {
		if p.sent[c] {
			sent[c] = true
			return
		}
		owed = append(owed, c)
	}
	defer func() { p.sent = sent }()
	if p.Status == schedule.Gone {
		owe(Command{Action: Erase})
		return owed
	}
	for i := range p.Recent {
		switch r := &p.Recent[i]; {
		case r.Status == schedule.RunStarting:
			start := Command{Action: Start, Key: r.Key, At: r.Due}
			if !r.Patient {
				start.By = p.Fires(r.Due).Add(Late)
			}
			owe(start)
		case r.Status == schedule.RunRunning && r.Replaced:
			owe(Command{Action: Stop, Key: r.Key})
		case r.Status == schedule.RunRunning && r.Doubted:
			owe(Command{Action: Look, Key: r.Key, At: p.Last})
		}
	}
	if !p.Next.IsZero() {
		owe(Command{Action: Arm, Key: schedule.Key(p.Next), At: p.Fires(p.Next)})
	}
	return owed
}

// Sent records that a command was executed.
func (p *Plan) Sent(c Command) { p.sent[c] = true }
