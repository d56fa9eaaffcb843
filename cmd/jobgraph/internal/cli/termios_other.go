//go:build !unix || aix || solaris

package cli

import "os"

// editable is false where the terminal's own editor has to do.
func editable(*os.File) bool { return false }

// flush is never called.
func flush(*os.File) bool { return false }

// editing is never called.
func editing(*os.File) (restore func(), err error) { return func() {}, nil }
