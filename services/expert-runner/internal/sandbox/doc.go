// Package sandbox keeps programs from what is not theirs: files outside the folders they may read and write, the network,
// sockets of the file system, other processes, rare parts of the kernel, and more of the machine than they may have.
//
// A program of ours is its own helper: started again with a hidden argument, it restricts itself and becomes the program to run,
// or stays beside it as the parent of everything that the program starts. Mounts are changed only in a namespace of the
// program's own, which ends with it, so nothing outlives a program or reaches the machine. The package keeps no state; a Box
// belongs to its opener.
package sandbox
