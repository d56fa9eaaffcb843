// Command survey is the Design Expert: it makes the inventory of a folder, decides which files matter and which kinds
// of entities and relations can be expected in them. Task on standard input, report on standard output.
package main
