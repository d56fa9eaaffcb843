package table

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
)

// Limits of what is shown, in bytes.
const (
	maxShown = 48 << 10
	maxCell  = 400
)

// Show formats results for a model: each as a Markdown table.
func Show(results []Result) string {
	var b strings.Builder
	for i := range results {
		if len(results) > 1 {
			fmt.Fprintf(&b, "statement %d:\n", i+1)
		}
		results[i].show(&b)
		if b.Len() > maxShown {
			fmt.Fprintf(&b, "[statements %d to %d are not shown]\n", i+2, len(results))
			break
		}
	}
	return b.String()
}

func (r *Result) show(b *strings.Builder) {
	if len(r.Columns) == 0 {
		fmt.Fprintf(b, "(done, %d rows changed)\n", r.Changed)
		return
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	names := make([]string, len(r.Columns))
	for i, name := range r.Columns {
		names[i] = cell(name)
	}
	line(names)
	b.WriteString(strings.Repeat("|---", len(r.Columns)) + "|\n")
	for n, row := range r.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = cell(Text(value))
		}
		line(cells)
		if b.Len() > maxShown && n < len(r.Rows)-1 {
			fmt.Fprintf(b, "[%d further rows are not shown: select fewer columns or rows, or save them to a file]\n", len(r.Rows)-1-n)
			return
		}
	}
	switch {
	case r.More:
		fmt.Fprintf(b, "(%d rows, and there are more: aggregate, use LIMIT, or save them to a file)\n", len(r.Rows))
	case len(r.Rows) == 1:
		b.WriteString("(1 row)\n")
	default:
		fmt.Fprintf(b, "(%d rows)\n", len(r.Rows))
	}
}

// cell formats a value on one line.
func cell(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxCell {
		end := maxCell
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "|", `\|`).Replace(text)
}

// ShowTables lists the tables with their columns for a model.
func ShowTables(tables []Table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "%s (%s) of %s", t.Name, strings.Join(t.Columns, ", "), t.File)
		if t.Note != "" {
			fmt.Fprintf(&b, " [%s]", t.Note)
		}
		b.WriteString("\n")
		if b.Len() > maxShown {
			b.WriteString("[further tables are not shown]\n")
			break
		}
	}
	return b.String()
}

// Quoted returns the name of the table as used in statements.
func (t *Table) Quoted() string {
	schema, name, attached := strings.Cut(t.Name, ".")
	if !attached {
		return sqlite3.QuoteIdentifier(t.Name)
	}
	return sqlite3.QuoteIdentifier(schema) + "." + sqlite3.QuoteIdentifier(name)
}
