// Package sandbox keeps programs away from what they must not reach: files outside the folders that they may read and write, the
// network, sockets of the file system, other processes, rare parts of the kernel, and more resources than they are allowed.
//
// A program of ours is its own helper: started again with a hidden argument, it restricts itself and becomes the program to run, or
// stays beside it as the parent of everything that the program starts. Mounts are changed only in a namespace of the program, which
// ends with it, so nothing outlives a program or affects the machine. The package keeps no state; a Box belongs to its opener.
package sandbox
