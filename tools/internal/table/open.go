package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/jobgraph/jobgraph/tools/internal/place"
)

// maxFiles is how many files a call may name, as SQLite attaches at most ten databases.
const maxFiles = 10

// maxHeap limits the memory of SQLite, in bytes; the scratch database goes to a temporary file.
const maxHeap = 512 << 20

// DB has the files of one call.
type DB struct {
	conn  *sqlite3.Conn
	write bool
	// denied says why the last statement was refused.
	denied string
	tables []Table
}

// Table is a table that statements can use.
type Table struct {
	// Name is its name in statements, File the file that it comes from.
	Name, File string
	// Columns are its columns with their types, in order.
	Columns []string
	// Note says what was assumed when the file was read; empty for nothing.
	Note string
}

// Open opens files of the workspace: PATH, or NAME=PATH to choose the name of the table or database. With write, databases may be
// changed and are created if they do not exist. Close must be called.
func Open(ctx context.Context, dir place.Dir, files []string, write bool) (*DB, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("%d files are named, at most %d can be used at once", len(files), maxFiles)
	}
	conn, err := sqlite3.OpenContext(ctx, "") // Without a name, SQLite uses a temporary file.
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	db := &DB{conn: conn, write: write}
	conn.SetInterrupt(ctx)
	conn.HardHeapLimit(maxHeap)
	err = conn.Exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA trusted_schema=OFF")
	names := map[string]bool{"main": true, "temp": true}
	for _, file := range files {
		if err == nil {
			err = db.add(dir, file, names)
		}
	}
	if err == nil && write {
		err = conn.Exec("BEGIN")
	}
	if err == nil {
		err = conn.SetAuthorizer(db.allow)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return db, nil
}

// Close releases the files. Changes since Open that Commit has not kept are undone.
func (db *DB) Close() error { return db.conn.Close() }

// add makes one file usable under a unique name.
func (db *DB) add(dir place.Dir, file string, names map[string]bool) error {
	name, path, chosen := strings.Cut(file, "=")
	if !chosen {
		path = file
		name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	name = identifier(name, names)
	full, err := dir.Find(path)
	if err != nil && db.write && isDatabase(path) {
		full, err = dir.Place(path)
	}
	if err != nil {
		return err
	}
	head, err := headOf(full)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")), len(head) == 0 && isDatabase(path):
		return db.attach(name, path, full)
	case isDatabase(path):
		return fmt.Errorf("%s is no SQLite database: it begins with %.16q", path, head)
	}
	return db.load(name, path, full)
}

func isDatabase(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return true
	}
	return false
}

// headOf returns the beginning of a file; nothing if it does not exist.
func headOf(full string) ([]byte, error) {
	file, err := os.Open(full)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	head := make([]byte, 512)
	n, _ := file.Read(head) // An empty file causes an error, which does not matter.
	return head[:n], nil
}

// attach attaches a database and lists its tables.
func (db *DB) attach(name, path, full string) error {
	mode := "ro"
	if db.write {
		mode = "rwc"
	}
	address := url.URL{Scheme: "file", Path: full, RawQuery: "mode=" + mode}
	if err := db.conn.Exec("ATTACH " + sqlite3.Quote(address.String()) + " AS " + sqlite3.QuoteIdentifier(name)); err != nil {
		return damaged(path, err)
	}
	list, _, err := db.conn.Prepare("SELECT name FROM " + sqlite3.QuoteIdentifier(name) + ".sqlite_schema WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		return damaged(path, err)
	}
	var tables []string
	for list.Step() {
		tables = append(tables, list.ColumnText(0))
	}
	if err := list.Close(); err != nil {
		return damaged(path, err)
	}
	for _, t := range tables {
		columns, err := db.columns(name, t)
		if err != nil {
			return fmt.Errorf("open %s: table %s: %w", path, t, err)
		}
		db.tables = append(db.tables, Table{Name: name + "." + t, File: path, Columns: columns})
	}
	return nil
}

func damaged(path string, err error) error {
	return fmt.Errorf("open %s: it is damaged, encrypted or no database: %w", path, err)
}

// columns lists the columns of a table with their types.
func (db *DB) columns(schema, table string) ([]string, error) {
	list, _, err := db.conn.Prepare("SELECT name, type FROM pragma_table_info(?, ?)")
	if err != nil {
		return nil, err
	}
	_ = errors.Join(list.BindText(1, table), list.BindText(2, schema)) // A failure shows when the statement runs.
	var columns []string
	for list.Step() {
		columns = append(columns, strings.TrimSpace(list.ColumnText(0)+" "+list.ColumnText(1)))
	}
	return columns, list.Close()
}

// identifier makes a unique name that needs no quotes.
func identifier(text string, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "t_" + name
	}
	unique := name
	for n := 2; taken[strings.ToLower(unique)]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	taken[strings.ToLower(unique)] = true
	return unique
}

// allow decides about each action of a statement.
func (db *DB) allow(action sqlite3.AuthorizerActionCode, _, _, schema, _ string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		db.denied = "statements use the files of this call only: name them in files"
	case sqlite3.AUTH_TRANSACTION, sqlite3.AUTH_SAVEPOINT:
		db.denied = "all statements of a call are one transaction already"
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE, sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_CREATE_INDEX, sqlite3.AUTH_CREATE_VIEW,
		sqlite3.AUTH_CREATE_TRIGGER, sqlite3.AUTH_CREATE_VTABLE, sqlite3.AUTH_DROP_TABLE, sqlite3.AUTH_DROP_INDEX, sqlite3.AUTH_DROP_VIEW,
		sqlite3.AUTH_DROP_TRIGGER, sqlite3.AUTH_DROP_VTABLE, sqlite3.AUTH_ALTER_TABLE, sqlite3.AUTH_REINDEX, sqlite3.AUTH_ANALYZE:
		if db.write || schema == "main" || schema == "temp" || schema == "" {
			return sqlite3.AUTH_OK
		}
		db.denied = "the database " + schema + " is only read: call again with write: true to change it"
	default:
		return sqlite3.AUTH_OK
	}
	return sqlite3.AUTH_DENY
}

// Tables returns the tables that statements can use.
func (db *DB) Tables() []Table { return db.tables }
