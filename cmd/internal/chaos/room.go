package chaos

import (
	"syscall"
	"time"
)

// busFull is the fault of a server without storage space.
const busFull = "bus without room"

// noRoom is the storage limit of such a server in bytes: it keeps what it has and refuses the rest.
const noRoom = 1

// fill restarts a server that was asked to end, first without storage space and after a while with enough.
func (p *process) fill(lasts time.Duration) error {
	p.mu.Lock()
	p.full = true // Set before it runs again, so that no other fault strikes it.
	p.mu.Unlock()
	p.gone()
	if err := p.limit(noRoom); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	<-time.After(lasts)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // It may have ended.
	p.gone()
	err := p.limit(0)
	if err == nil {
		err = p.start()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.full = false
	return err
}

// limit sets the storage limit of a server from its next start on.
func (p *process) limit(most int64) error {
	o := *p.order
	o.Most = most
	text, err := o.text()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.args[len(p.args)-1] = text
	return nil
}

// landlocked returns the version of the system's Landlock; below 1 there is none.
func landlocked() bool {
	const createRuleset, askVersion = 444, 1
	version, _, fault := syscall.Syscall(createRuleset, 0, 0, askVersion)
	return fault == 0 && int(version) > 0
}
