// Package place opens files of the workspace by paths that a model wrote. What is outside is refused, also behind links.
package place
