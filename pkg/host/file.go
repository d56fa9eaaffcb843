package host

import (
	"fmt"
	"io"
	"os"
)

// fileLimit is the largest settings, secret or prompt file that is read, in bytes.
const fileLimit = 4 << 20

// readSmall reads a regular file of at most fileLimit bytes, or a pipe up to that size.
func readSmall(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
	if err != nil {
		return "", err
	}
	if len(text) > fileLimit {
		return "", fmt.Errorf("read %s: larger than %d bytes", path, fileLimit)
	}
	return string(text), nil
}
