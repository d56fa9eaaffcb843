package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/tools/internal/table"
)

// The limits of the tool sql.
const (
	defaultRows = 100
	maxRows     = 1000
	defaultTime = time.Minute
	maxTime     = 2 * time.Minute
)

const sqlText = "Runs SQL (SQLite's dialect) over files of the workspace and gives the rows. A CSV or TSV file is a table named after the file, " +
	"with inferred types; a SQLite database is attached under the name of its file. Without query it lists tables, columns and types: do that first. " +
	"Databases are only read unless write is true; CSV files are never changed. Several statements are separated by semicolons; with write all of " +
	"them are kept, or none."

// sqlArgs are the arguments of the tool sql.
type sqlArgs struct {
	Query   string   `json:"query,omitempty" jsonschema:"the statements; without any the tables are listed"`
	Files   []string `json:"files" jsonschema:"paths of SQLite, CSV and TSV files in the workspace, or NAME=PATH to choose a name"`
	Write   bool     `json:"write,omitempty" jsonschema:"true to change databases, or to make a new one"`
	Rows    int      `json:"rows,omitempty" jsonschema:"how many rows of each statement are shown, 100 when left out, at most 1000"`
	Save    string   `json:"save,omitempty" jsonschema:"path of a .csv or .tsv file that gets all rows of the last statement"`
	Timeout int      `json:"timeout,omitempty" jsonschema:"seconds, 60 when left out, at most 120"`
}

func (s *Settings) sql(ctx context.Context, a *sqlArgs) (text string, err error) {
	switch {
	case len(a.Files) == 0:
		return "", errors.New("bad arguments: files is needed: the paths of SQLite, CSV or TSV files")
	case a.Rows < 0 || a.Rows > maxRows:
		return "", fmt.Errorf("bad arguments: rows is 1 to %d", maxRows)
	case a.Timeout < 0 || a.Timeout > int(maxTime.Seconds()):
		return "", fmt.Errorf("bad arguments: timeout is 1 to %d seconds", int(maxTime.Seconds()))
	}
	limit := defaultTime
	if a.Timeout > 0 {
		limit = time.Duration(a.Timeout) * time.Second
	}
	ctx, end := context.WithTimeout(ctx, limit)
	defer end()
	db, err := table.Open(ctx, s.Dir, a.Files, a.Write)
	if err != nil {
		return "", late(ctx, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if a.Query == "" {
		return table.ShowTables(db.Tables()), nil
	}
	return query(db, s, a)
}

func query(db *table.DB, s *Settings, a *sqlArgs) (text string, err error) {
	var save *table.Saver
	if a.Save != "" {
		if save, err = table.NewSaver(s.Dir, a.Save); err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, save.Close()) }()
	}
	rows := defaultRows
	if a.Rows > 0 {
		rows = a.Rows
	}
	results, err := db.Run(a.Query, rows, save)
	if err == nil {
		err = db.Commit()
	}
	if err != nil {
		return "", err
	}
	text = table.Show(results)
	if save != nil {
		text += fmt.Sprintf("(%d rows are saved in %s)\n", save.Rows, a.Save)
	}
	return text, nil
}

// late turns an error into one which says that the files took too long, if that is the cause.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("reading the files took too long: use smaller ones, or allow more time with timeout")
	}
	return err
}
