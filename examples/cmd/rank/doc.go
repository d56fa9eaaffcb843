// Command rank is the analyst: it measures the extracted graph. With -report it also writes the report, so that a plan
// with a single analysis step ends with one. Task on standard input, report on standard output.
package main
