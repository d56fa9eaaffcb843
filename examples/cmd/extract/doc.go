// Command extract is the Extraction Expert: it finds entities and relations in the files of an inventory. With
// -only code or -only text it reads one kind of files. Task on standard input, report on standard output.
package main
