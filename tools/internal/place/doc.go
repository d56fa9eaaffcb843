// Package place opens files of the workspace by paths that a model wrote. It refuses everything outside, even behind links.
package place
