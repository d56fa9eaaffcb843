package render

import (
	"path"
	"strings"
	"sync"
)

// language describes what to colour in a programming language: comments, strings, numbers, keywords and names of constants. A
// library with its grammars would add four megabytes to each program, and its engine alone more than half of one.
type language struct {
	// names are the names of the language, including the extensions of its files.
	names string
	// line begins a comment that ends with the line; from and to enclose a longer one; empty if there is none.
	line, from, to string
	// quotes are the characters that enclose a text; a text in one of long may span lines.
	quotes, long string
	// words are its key words, values its constants and types. fold is true if their case does not matter.
	words, values string
	fold          bool
	// keyed is true if a name before a colon or an equals sign is a key.
	keyed bool
	// classes are the classes of its words and values.
	classes map[string]string
}

var languages = []language{
	{
		names: "go golang", line: "//", from: "/*", to: "*/", quotes: `"'`, long: "`",
		words:  "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
		values: "any bool byte comparable error false float32 float64 int int16 int32 int64 int8 iota nil rune string true uint uint16 uint32 uint64 uint8 uintptr",
	},
	{
		names: "python py python3", line: "#", quotes: `"'`,
		words:  "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
		values: "False None True bool bytes dict float int list object self set str tuple",
	},
	{
		names: "javascript js mjs cjs jsx typescript ts tsx", line: "//", from: "/*", to: "*/", quotes: `"'`, long: "`",
		words:  "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface let namespace new of private protected public readonly return satisfies set static super switch this throw try type typeof var void while with yield",
		values: "any bigint boolean false never null number object string symbol true undefined unknown NaN Infinity",
	},
	{
		names: "java kotlin kt scala", line: "//", from: "/*", to: "*/", quotes: `"'`,
		words:  "abstract assert break case catch class continue def default do else enum extends final finally for fun if implements import in instanceof interface is native new object override package private protected public return sealed static super switch synchronized this throw throws trait try val var void volatile when while with yield",
		values: "Any Boolean Int List Long Map String boolean byte char double false float int long null short true",
	},
	{
		names: "c h cpp cc hpp cs csharp", line: "//", from: "/*", to: "*/", quotes: `"'`,
		words:  "auto break case catch class const constexpr continue default delete do else enum extern final for foreach goto if inline interface internal namespace new operator override private protected public register return sizeof static struct switch template this throw try typedef typename union using virtual volatile while",
		values: "bool char double false float int long null nullptr short signed size_t string true unsigned void NULL",
	},
	{
		names: "rust rs", line: "//", from: "/*", to: "*/", quotes: `"`,
		words:  "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self static struct super trait type unsafe use where while",
		values: "Err None Ok Option Result Self Some String Vec bool char f32 f64 false i16 i32 i64 i8 isize str true u16 u32 u64 u8 usize",
	},
	{
		names: "shell sh bash zsh console", line: "#", long: `"'`,
		words:  "case do done elif else esac exec exit export fi for function if in local readonly return set shift source then trap unset until while",
		values: "cat cd cp curl echo false find git grep jq ls mkdir mv printf rm sed test true",
	},
	{
		names: "sql", line: "--", from: "/*", to: "*/", quotes: `'"`, fold: true,
		words:  "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end except exists foreign from full group having if in index inner insert intersect into is join key left like limit not offset on or order outer over partition primary recursive references returning right rollback select set table then union unique update using values view when where with",
		values: "bigint blob boolean char date decimal double false float int integer null numeric real text timestamp true varchar",
	},
	{names: "json jsonl ndjson json5", line: "//", quotes: `"`, values: "true false null", keyed: true},
	{names: "yaml yml", line: "#", quotes: `"'`, values: "true false null yes no on off", keyed: true},
	{names: "toml ini cfg conf properties env", line: "#", quotes: `"'`, values: "true false", keyed: true},
	{
		names: "css scss", from: "/*", to: "*/", quotes: `"'`, keyed: true,
		values: "auto block flex grid inherit initial none relative absolute fixed",
	},
	{names: "make makefile dockerfile", line: "#", quotes: `"'`, words: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN USER VOLUME WORKDIR define else endif ifdef ifeq ifneq include", keyed: true},
}

// scanner gives the first token of a text that is not empty: its length in bytes, which is never 0, and its class, "" for none.
type scanner func(text string) (n int, class string)

// scanners maps the names of languages to functions that make a scanner for a new text.
var scanners = sync.OnceValue(func() map[string]func() scanner {
	byName := map[string]func() scanner{}
	add := func(names string, begin func() scanner) {
		for name := range strings.FieldsSeq(names) {
			byName[name] = begin
		}
	}
	for i := range languages {
		l := &languages[i]
		l.classes = map[string]string{}
		for word := range strings.FieldsSeq(l.values) {
			l.classes[word] = classConstant
		}
		for word := range strings.FieldsSeq(l.words) {
			l.classes[word] = classKeyword
		}
		add(l.names, func() scanner { return l.scan })
	}
	add("html xml svg vue", func() scanner { return (&markup{}).scan })
	add("diff patch", func() scanner { return difference })
	return byName
})

// scannerOf makes the scanner of a language by its name, nil for an unknown one.
func scannerOf(name string) func() scanner { return scanners()[strings.ToLower(name)] }

// Language names the language of a file by its name, "" for an unknown one.
func Language(file string) string {
	name := strings.ToLower(path.Base(file))
	if scannerOf(name) != nil && !strings.Contains(name, ".") {
		return name // Files such as Makefile have no extension.
	}
	extension := strings.TrimPrefix(path.Ext(name), ".")
	if scannerOf(extension) == nil {
		return ""
	}
	return extension
}
