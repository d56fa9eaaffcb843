package table

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/jobgraph/jobgraph/tools/internal/place"
)

// Result is the result of one statement.
type Result struct {
	// Columns are the names of its columns; none for a statement without rows.
	Columns []string
	// Rows are its first rows: int64, float64, string, []byte or nil.
	Rows [][]any
	// More is true if there are more rows.
	More bool
	// Changed is how many rows a statement without columns has changed.
	Changed int64
}

// maxSaved limits the rows that are saved.
const maxSaved = 5_000_000

// Run executes statements one after another and returns the first rows of each. save receives all rows of the last statement that
// has any; nil saves nothing. In a transaction all statements take effect, or none.
func (db *DB) Run(query string, most int, save *Saver) ([]Result, error) {
	var results []Result
	for n := 1; strings.TrimSpace(query) != ""; n++ {
		db.denied = ""
		s, rest, err := db.conn.Prepare(query)
		if err != nil {
			return nil, db.explain(n, err)
		}
		query = rest
		if s == nil { // The statement is only a comment.
			n--
			continue
		}
		r, err := db.run(s, most, save)
		if err = errors.Join(err, s.Close()); err != nil {
			return nil, db.explain(n, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// Commit makes the changes permanent.
func (db *DB) Commit() error {
	if !db.write {
		return nil
	}
	if err := db.conn.SetAuthorizer(nil); err != nil {
		return err
	}
	return db.conn.Exec("COMMIT")
}

func (db *DB) run(s *sqlite3.Stmt, most int, save *Saver) (Result, error) {
	r := Result{}
	for i := range s.ColumnCount() {
		r.Columns = append(r.Columns, s.ColumnName(i))
	}
	if len(r.Columns) == 0 {
		before := db.conn.TotalChanges()
		err := s.Exec()
		r.Changed = db.conn.TotalChanges() - before
		return r, err
	}
	if err := save.begin(r.Columns); err != nil {
		return r, err
	}
	for n := 0; s.Step(); n++ {
		if n >= most {
			r.More = true
			if save == nil {
				return r, s.Reset()
			}
		}
		row := make([]any, len(r.Columns))
		for i := range row {
			row[i] = valueOf(s, i)
		}
		if !r.More {
			r.Rows = append(r.Rows, row)
		}
		if err := save.row(row); err != nil {
			return r, err
		}
	}
	return r, s.Err()
}

func valueOf(s *sqlite3.Stmt, i int) any {
	switch s.ColumnType(i) {
	case sqlite3.INTEGER:
		return s.ColumnInt64(i)
	case sqlite3.FLOAT:
		return s.ColumnFloat(i)
	case sqlite3.TEXT:
		return s.ColumnText(i)
	case sqlite3.BLOB:
		return s.ColumnBlob(i, nil)
	}
	return nil
}

// explain says what is wrong with the nth statement and what to do.
func (db *DB) explain(n int, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sqlite3: "), "SQL logic error: ")
	switch {
	case db.denied != "":
		return fmt.Errorf("statement %d is not allowed: %s", n, db.denied)
	case errors.Is(err, sqlite3.INTERRUPT), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("statement %d took too long: read less, or allow it more with timeout", n)
	case errors.Is(err, sqlite3.NOMEM), errors.Is(err, sqlite3.FULL):
		return fmt.Errorf("statement %d needs too much memory or disk: aggregate or limit earlier", n)
	case strings.Contains(text, "no such table"), strings.Contains(text, "no such column"):
		return fmt.Errorf("statement %d: %s; there are %s", n, text, db.list())
	}
	return fmt.Errorf("statement %d: %s", n, text)
}

// list names the tables with their columns.
func (db *DB) list() string {
	var all []string
	for _, t := range db.tables {
		all = append(all, t.Name+" ("+strings.Join(t.Columns, ", ")+")")
	}
	if len(all) == 0 {
		return "no tables: name the files"
	}
	return strings.Join(all, ", ")
}

// Saver writes all rows of the last statement that has any to a CSV or TSV file. A nil Saver saves nothing.
type Saver struct {
	path string
	file *os.File
	w    *csv.Writer
	// Rows is the number of rows in the file.
	Rows int
}

// NewSaver returns a Saver for a file in the workspace.
func NewSaver(dir place.Dir, path string) (*Saver, error) {
	full, err := dir.Place(path)
	if err != nil {
		return nil, err
	}
	return &Saver{path: full}, nil
}

func (s *Saver) begin(columns []string) error {
	if s == nil {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	file, err := os.Create(s.path)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	s.file, s.w, s.Rows = file, csv.NewWriter(file), 0
	if strings.HasSuffix(strings.ToLower(s.path), ".tsv") {
		s.w.Comma = '\t'
	}
	return s.w.Write(columns)
}

func (s *Saver) row(values []any) error {
	if s == nil {
		return nil
	}
	if s.Rows++; s.Rows > maxSaved {
		return fmt.Errorf("save: there are more than %d rows", maxSaved)
	}
	fields := make([]string, len(values))
	for i, value := range values {
		if value != nil {
			fields[i] = Text(value)
		}
	}
	return s.w.Write(fields)
}

// Close completes the file. It may be called more than once.
func (s *Saver) Close() error {
	if s == nil || s.file == nil {
		return nil
	}
	s.w.Flush()
	err := errors.Join(s.w.Error(), s.file.Close())
	s.file = nil
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return nil
}

// Text formats a value as text.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return fmt.Sprintf("<%d bytes>", len(v))
	}
	return fmt.Sprint(value)
}
