package serve_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const sales = "day,region,units,price,zip\n2026-01-01,north,3,1.50,00123\n2026-01-02,south,5,2,04567\n2026-01-03,north,,2.25,00123\n"

func TestTablesOfTextFilesHaveTheTypesOfTheirValues(t *testing.T) {
	b := open(t, map[string]string{
		"sales.csv":        sales,
		"data/2026 q1.tsv": "a\tb\n1\tx\n",
		"semi.csv":         "\uFEFFname;amount;amount\nÅsa;1;2\n",
		"bare.csv":         "1,2.5\n3,4\n",
		"latin.csv":        "name\nM\xfcller\n",
		"sixteen.csv":      "\xff\xfea\x00\n\x00\xfc\x00\n\x00",
	})
	b.gives("sql", args{"files": []string{"sales.csv", "data/2026 q1.tsv", "semi.csv", "bare.csv", "latin.csv", "sixteen.csv", "x=bare.csv"}},
		"sales (day TEXT, region TEXT, units INTEGER, price REAL, zip TEXT) of sales.csv\n",
		"t_2026_q1 (a INTEGER, b TEXT) of data/2026 q1.tsv\n",
		"semi (name TEXT, amount INTEGER, amount_2 INTEGER) of semi.csv [fields are separated by ';']",
		"bare (column_1 INTEGER, column_2 REAL) of bare.csv [the first line is data",
		"latin (name TEXT) of latin.csv [read as Windows-1252",
		"sixteen (a TEXT) of sixteen.csv [read as UTF-16]",
		"x (column_1 INTEGER")
	b.gives("sql", args{"files": []string{"sales.csv", "latin.csv", "sixteen.csv", "bare.csv"}, "query": "SELECT region, sum(units) AS units, count(*) n FROM sales GROUP BY 1 ORDER BY 1; SELECT name, a FROM latin, sixteen; SELECT count(*) FROM bare;"},
		"statement 1:\n| region | units | n |\n|---|---|---|\n| north | 3 | 2 |\n| south | 5 | 1 |\n(2 rows)\n",
		"| Müller | ü |", "| 2 |")
}

func TestFilesThatAreNoTablesSayWhy(t *testing.T) {
	b := open(t, map[string]string{
		"ragged.csv": "a,b\n1,2\n3,4,5\n", "quotes.csv": "a,b\n1,\"2\n3,4\n", "empty.csv": "", "zero.csv": "a\x00b", "fake.db": "no database",
		"cut.db": "SQLite format 3\x00rest", "sub/x": "",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	for file, why := range map[string]string{
		"ragged.csv": "line 3 of ragged.csv has 3 fields, but there are 2 columns", "quotes.csv": "check the quotes", "empty.csv": "empty.csv is empty",
		"zero.csv": "it has zero bytes", "fake.db": "is no SQLite database", "cut.db": "damaged, encrypted or no database", "absent.csv": "there is no file absent.csv",
		"../x.csv": "outside the workspace", "/etc/passwd": "outside the workspace", "link.csv": "outside the workspace", "sub": "is no file",
	} {
		b.fails("sql", args{"files": []string{file}, "query": "SELECT 1"}, why)
	}
	b.fails("sql", args{"files": []string{}}, "files is needed")
	b.fails("sql", args{"query": "SELECT 1"}, "files")
}

func TestDatabasesAreOnlyReadUnlessWritingIsAskedFor(t *testing.T) {
	b := open(t, map[string]string{"sales.csv": sales})
	file := []string{"shop.db"}
	b.fails("sql", args{"files": file, "query": "SELECT 1"}, "there is no file shop.db")
	b.gives("sql", args{"files": []string{"shop.db", "sales.csv"}, "write": true, "query": "CREATE TABLE shop.kept AS SELECT * FROM sales; INSERT INTO shop.kept(region) VALUES ('east')"}, "(done, 1 rows changed)")
	b.gives("sql", args{"files": file}, "shop.kept (day TEXT, region TEXT, units INT, price REAL, zip TEXT) of shop.db")
	before := b.read("shop.db")
	for query, why := range map[string]string{
		"DELETE FROM kept":             "the database shop is only read: call again with write: true",
		"DROP TABLE shop.kept":         "only read",
		"CREATE TABLE shop.more(a)":    "only read",
		"UPDATE kept SET units = 1":    "only read",
		"ATTACH 'other.db' AS o":       "name them in files",
		"VACUUM shop INTO 'copy.db'":   "name them in files",
		"BEGIN":                        "one transaction already",
		"SELECT * FROM absent":         "no such table: absent; there are shop.kept (day TEXT",
		"SELECT 1; SELEC 2":            `statement 2: near "SELEC": syntax error`,
		"PRAGMA shop.user_version = 7": "readonly",
		"SELECT load_extension('x')":   "no such function",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n": "took too long",
	} {
		b.fails("sql", args{"files": file, "query": query, "timeout": 1}, why)
	}
	if b.read("shop.db") != before {
		t.Error("the database has changed")
	}
	if entries, _ := os.ReadDir(b.dir); len(entries) != 2 {
		t.Errorf("there are new files: %v", entries)
	}
	b.gives("sql", args{"files": file, "query": "CREATE TEMP TABLE big AS SELECT units FROM kept WHERE units > 3; SELECT * FROM big"}, "| 5 |")
	b.fails("sql", args{"files": file, "write": true, "query": "DELETE FROM kept; SELECT * FROM absent"}, "no such table")
	b.gives("sql", args{"files": file, "query": "SELECT count(*) FROM kept"}, "| 4 |")
}

func TestRowsAreBoundedWhenShownAndCompleteWhenSaved(t *testing.T) {
	var lines strings.Builder
	lines.WriteString("n,text\n")
	for i := range 5000 {
		lines.WriteString(strconv.Itoa(i) + ",\"a|b " + strings.Repeat("x", 30) + "\"\n")
	}
	b := open(t, map[string]string{"many.csv": lines.String()})
	said, _ := b.call("sql", args{"files": []string{"many.csv"}, "query": "SELECT * FROM many"})
	if strings.Count(said, `a\|b`) != 100 || !strings.Contains(said, "(100 rows, and there are more") {
		t.Errorf("says %d bytes, the end is %q", len(said), said[max(0, len(said)-100):])
	}
	said, _ = b.call("sql", args{"files": []string{"many.csv"}, "rows": 1000, "query": "SELECT text||text||text FROM many", "save": "out/all.csv"})
	if len(said) > 50<<10 || !strings.Contains(said, "further rows are not shown") || !strings.Contains(said, "(5000 rows are saved in out/all.csv)") {
		t.Errorf("says %d bytes, the end is %q", len(said), said[max(0, len(said)-200):])
	}
	if saved := b.read("out/all.csv"); strings.Count(saved, "\n") != 5001 {
		t.Errorf("saved %d lines", strings.Count(saved, "\n"))
	}
	b.fails("sql", args{"files": []string{"many.csv"}, "query": "SELECT 1", "save": "../all.csv"}, "outside the workspace")
	b.fails("sql", args{"files": []string{"many.csv"}, "query": "SELECT 1", "rows": 1001}, "rows is 1 to 1000")
	b.fails("sql", args{"files": []string{"many.csv"}, "query": "SELECT 1", "timeout": 121}, "timeout is 1 to 120")
}
