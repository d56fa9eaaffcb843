//go:build !unix

package cli

import "os"

// awaitUnread is for systems with poll: elsewhere the next write finds out.
func awaitUnread(*os.File, func()) {}
