package sandbox

import "errors"

// AskBeforeForks makes the forks of this thread and its children ask the process at the other end of the descriptor gateFD.
func AskBeforeForks() error {
	listener, err := openGate()
	if err != nil {
		return err
	}
	return sendGate(listener)
}

// AllowForks lets the forks of the process at the other end of a socket go on until it and its children have ended.
func AllowForks(socket int) error {
	g, err := receiveGate(socket, 1<<30)
	if err == nil && g == nil {
		err = errors.New("it asks nothing")
	}
	if err == nil {
		g.serve()
	}
	return err
}
