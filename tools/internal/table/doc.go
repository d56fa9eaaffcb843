// Package table answers SQL over files of the workspace: SQLite databases, attached as they are, and CSV or TSV files, each loaded as
// a table of a scratch database whose column types are inferred. Databases are read unless writing was asked for; statements reach
// no other file. Rows, bytes and time are bounded.
package table
