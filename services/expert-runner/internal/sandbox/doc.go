// Package sandbox keeps programs from what is not theirs: files outside the folders they may read and write, the network,
// other processes, and more of the machine than they may have.
//
// A program of ours is its own helper: started again with a hidden argument, it restricts itself and becomes the program to run.
// The package mounts nothing, moves no root and makes no space of mounts, so nothing that it does can outlive a program or reach
// the machine. It keeps no state; a Box belongs to its opener.
package sandbox
