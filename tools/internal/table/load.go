package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Limits of a text file with a table.
const (
	maxText    = 1 << 30
	maxColumns = 1000
)

// load reads a CSV or TSV file into a table of the scratch database.
func (db *DB) load(name, path, full string) error {
	t, types, err := examine(path, full)
	if err != nil {
		return err
	}
	t.Name = name
	if err := db.fill(t, full, types); err != nil {
		return err
	}
	for i := range t.header {
		t.Columns = append(t.Columns, t.header[i]+" "+types[i].String())
	}
	db.tables = append(db.tables, t.Table)
	return nil
}

// text is a file with a table, as found on the first pass.
type text struct {
	Table
	header []string
	// headed is true if the first line has the names of the columns.
	headed    bool
	delimiter rune
	decoder   transform.Transformer // The decoder of the encoding; nil for UTF-8.
}

// kind is the type of a column: the narrowest one that fits all of its values.
type kind int

const (
	unknown kind = iota // Only empty values so far.
	integer
	decimal
	words
)

func (k kind) String() string { return [...]string{"TEXT", "INTEGER", "REAL", "TEXT"}[k] }

// kindOf returns the type of a value. Numbers with leading zeros are texts, since they are identifiers.
func kindOf(value string) kind {
	if value == "" {
		return unknown
	}
	digits := strings.TrimLeft(value, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' || len(value)-len(digits) > 1 || strings.ContainsAny(digits, "xXpP_iInN") {
		return words
	}
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return integer
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return decimal
	}
	return words
}

// examine determines encoding, delimiter, header and types by reading the whole file once.
func examine(path, full string) (*text, []kind, error) {
	info, err := os.Stat(full)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Size() > maxText {
		return nil, nil, fmt.Errorf("%s has %d bytes, at most %d are taken: split it by a program first", path, info.Size(), maxText)
	}
	t := &text{Table: Table{File: path}}
	if err := t.sniff(path, full); err != nil {
		return nil, nil, err
	}
	var types []kind
	err = t.read(full, func(line int, fields []string) error {
		if t.header == nil {
			return t.begin(fields, &types)
		}
		if len(fields) > len(types) {
			return fmt.Errorf("line %d of %s has %d fields, but there are %d columns: check the quotes and the delimiter %q", line, path, len(fields), len(types), t.delimiter)
		}
		for i, value := range fields {
			types[i] = max(types[i], kindOf(strings.TrimSpace(value)))
		}
		return nil
	})
	if err == nil && t.header == nil {
		err = fmt.Errorf("%s is empty", path)
	}
	return t, types, err
}

// begin handles the first line: it has names, unless all of its fields are numbers.
func (t *text) begin(fields []string, types *[]kind) error {
	if len(fields) > maxColumns {
		return fmt.Errorf("%s has %d columns, at most %d are taken", t.File, len(fields), maxColumns)
	}
	*types = make([]kind, len(fields))
	numbers := true
	for _, value := range fields {
		k := kindOf(strings.TrimSpace(value))
		numbers = numbers && (k == integer || k == decimal)
	}
	t.headed = !numbers
	taken := map[string]bool{}
	for i, value := range fields {
		name := strings.Join(strings.Fields(value), " ")
		if numbers || name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		taken[strings.ToLower(unique)] = true
		t.header = append(t.header, unique)
		if numbers {
			(*types)[i] = kindOf(strings.TrimSpace(value))
		}
	}
	if numbers {
		t.Note = strings.TrimPrefix(t.Note+"; the first line is data, the names of the columns are made up", "; ")
	}
	return nil
}

// sniff determines encoding and delimiter.
func (t *text) sniff(path, full string) error {
	file, err := os.Open(full)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	head = head[:n]
	switch {
	case n >= 2 && (head[0] == 0xFF && head[1] == 0xFE || head[0] == 0xFE && head[1] == 0xFF):
		t.decoder, t.Note = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder(), "read as UTF-16"
	case strings.ContainsRune(string(head), 0):
		return fmt.Errorf("%s is no table: it has zero bytes", path)
	case !validStart(head):
		t.decoder, t.Note = charmap.Windows1252.NewDecoder(), "read as Windows-1252, since it is not UTF-8"
	}
	if t.decoder != nil {
		head, _, _ = transform.Bytes(t.decoder, head) // Its end may be cut off.
		t.decoder.Reset()
	}
	first, _, _ := strings.Cut(string(head), "\n")
	t.delimiter = ','
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".tsv" || ext == ".tab" {
		t.delimiter = '\t'
		return nil
	}
	for _, other := range []rune{';', '\t', '|'} {
		if strings.Count(first, string(other)) > strings.Count(first, string(t.delimiter)) {
			t.delimiter = other
		}
	}
	if t.delimiter != ',' {
		t.Note = strings.TrimPrefix(fmt.Sprintf("%s; fields are separated by %q", t.Note, t.delimiter), "; ")
	}
	return nil
}

// validStart reports whether a text is UTF-8, apart from a character that is cut off at the end.
func validStart(head []byte) bool {
	for cut := range utf8.UTFMax {
		if cut <= len(head) && utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// read calls each for every line of the file.
func (t *text) read(full string, each func(line int, fields []string) error) error {
	file, err := os.Open(full)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.File, err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	var source io.Reader = file
	if t.decoder != nil {
		t.decoder.Reset()
		source = transform.NewReader(file, t.decoder)
	}
	buffered := bufio.NewReaderSize(source, 1<<16)
	if r, _, err := buffered.ReadRune(); err == nil && r != '\uFEFF' {
		_ = buffered.UnreadRune() // It was read just before.
	}
	lines := csv.NewReader(buffered)
	lines.Comma, lines.FieldsPerRecord, lines.ReuseRecord = t.delimiter, -1, true
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w: check the quotes", t.File, err)
		}
		line, _ := lines.FieldPos(0)
		if err := each(line, fields); err != nil {
			return err
		}
	}
}

// fill creates the table and copies the file into it.
func (db *DB) fill(t *text, full string, types []kind) error {
	var columns, places []string
	for i, name := range t.header {
		columns = append(columns, sqlite3.QuoteIdentifier(name)+" "+types[i].String())
		places = append(places, "?")
	}
	table := sqlite3.QuoteIdentifier(t.Name)
	if err := db.conn.Exec("CREATE TABLE " + table + " (" + strings.Join(columns, ", ") + ")"); err != nil {
		return fmt.Errorf("load %s: %w", t.File, err)
	}
	insert, _, err := db.conn.Prepare("INSERT INTO " + table + " VALUES (" + strings.Join(places, ", ") + ")")
	if err != nil {
		return fmt.Errorf("load %s: %w", t.File, err)
	}
	headed := t.headed
	err = db.conn.Exec("BEGIN")
	if err == nil {
		err = t.read(full, func(_ int, fields []string) error {
			if headed {
				headed = false
				return nil
			}
			return insertRow(insert, fields, types)
		})
	}
	if err == nil {
		err = db.conn.Exec("COMMIT")
	}
	if err = errors.Join(err, insert.Close()); err != nil {
		return fmt.Errorf("load %s: %w", t.File, err)
	}
	return nil
}

// insertRow writes one line; empty and missing fields are NULL.
func insertRow(insert *sqlite3.Stmt, fields []string, types []kind) error {
	for i := range types {
		value := ""
		if i < len(fields) {
			value = fields[i]
		}
		var err error
		switch trimmed := strings.TrimSpace(value); {
		case trimmed == "":
			err = insert.BindNull(i + 1)
		case types[i] == words || types[i] == unknown:
			err = insert.BindText(i+1, value)
		default:
			err = insert.BindText(i+1, trimmed) // The type of the column turns it into a number.
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(insert.Exec(), insert.Reset())
}
