package screentest

// Replay returns the rows that a terminal shows after a program has written some output, preceded by those that have scrolled off,
// and the faults of the output.
func Replay(width, height int, output string) (rows, faults []string) {
	s := &Screen{width: width, height: height, rows: make([][]string, height)}
	s.take([]byte(output))
	return s.Text(), s.Faults
}
