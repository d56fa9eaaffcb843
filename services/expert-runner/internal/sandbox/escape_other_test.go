//go:build !linux

package sandbox_test

// playEscape is never called, since there is no sandbox to leave.
func playEscape(string) int { return 2 }
