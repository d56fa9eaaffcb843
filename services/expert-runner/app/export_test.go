package app

import "github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"

// HasSandbox reports whether this machine allows any level.
func HasSandbox(h Sandbox) bool {
	_, err := sandbox.NewBoxes(h).Open(sandbox.Auto)
	return err == nil
}
