package recur

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Action says what a command does.
type Action string

// The actions.
const (
	Arm   Action = "arm"   // Set the timer of a moment.
	Start Action = "start" // Ask for the job of a run, and state that it is admitted, refused or late.
	Stop  Action = "stop"  // Ask that the job of a run stops.
	Look  Action = "look"  // State the end of a run whose job is gone.
	Erase Action = "erase" // Remove timers and facts of a schedule that was deleted.
)

// Command is something that the state requires. Equal commands are the same command.
type Command struct {
	Action Action // Action is what to do.
	Key    string // Key is that of the run, or of the moment.
	// At is when a timer fires, and the moment of a run that starts.
	At time.Time
	// By is when a run has to have begun, else it is late; zero for one that may begin at any time.
	By time.Time
}

// Pending gives the commands that the state owes and this process has not carried out. A fact discharges each for good:
// another process owes them until then.
func (p *Plan) Pending() []Command {
	if p.Blocked != "" && p.Status != schedule.Gone {
		return nil
	}
	var owed []Command
	sent := map[Command]bool{} // Of those that are no longer owed nothing need be known.
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

// Sent notes that a command was carried out.
func (p *Plan) Sent(c Command) { p.sent[c] = true }
