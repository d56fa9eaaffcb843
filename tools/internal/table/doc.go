// Package table answers SQL over files of the workspace: SQLite databases, attached unchanged, and CSV or TSV files, each loaded as
// a table of a scratch database whose column types are inferred. Databases are read-only unless writing was requested; statements
// reach no other file. Rows, bytes and time are bounded.
package table
