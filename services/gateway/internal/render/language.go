package render

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// language says what to colour in a programming language: comments, texts, numbers, key words and names of constants. It knows less
// than chroma's lexers, which would add three megabytes to each program.
type language struct {
	// names are its names, including the extensions of its files.
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

var lexers = sync.OnceValue(func() map[string]chroma.Lexer {
	byName := map[string]chroma.Lexer{}
	add := func(names string, rules func() chroma.Rules) {
		lexer := chroma.MustNewLexer(&chroma.Config{Name: names, EnsureNL: false}, rules)
		for name := range strings.FieldsSeq(names) {
			byName[name] = lexer
		}
	}
	for _, l := range languages {
		add(l.names, l.rules)
	}
	add("html xml svg vue", markup)
	add("diff patch", difference)
	return byName
})

// lexerOf returns the lexer of a language by its name, nil for an unknown one.
func lexerOf(name string) chroma.Lexer { return lexers()[strings.ToLower(name)] }

// Language names the language of a file by its name, "" for an unknown one.
func Language(file string) string {
	name := strings.ToLower(path.Base(file))
	if lexerOf(name) != nil && !strings.Contains(name, ".") {
		return name // Makefile, Dockerfile.
	}
	extension := strings.TrimPrefix(path.Ext(name), ".")
	if lexerOf(extension) == nil {
		return ""
	}
	return extension
}

// rules are those of the language. None of them can take more than linear time.
func (l *language) rules() chroma.Rules {
	var root []chroma.Rule
	rule := func(pattern string, kind chroma.TokenType) {
		root = append(root, chroma.Rule{Pattern: pattern, Type: kind})
	}
	rule(`\s+`, chroma.TextWhitespace)
	if l.line != "" {
		rule(regexp.QuoteMeta(l.line)+`[^\n]*`, chroma.CommentSingle)
	}
	if l.from != "" {
		rule(regexp.QuoteMeta(l.from)+`(?s:.*?)(?:`+regexp.QuoteMeta(l.to)+`|\z)`, chroma.CommentMultiline)
	}
	if l.keyed {
		rule(`"(?:[^"\\\n]|\\.)*"(?=\s*:)`, chroma.NameTag)
		rule(`[\w.$-]+(?=[ \t]*[:=])`, chroma.NameTag)
	}
	for _, q := range l.quotes {
		rule(string(q)+`(?:[^`+string(q)+`\\\n]|\\.)*`+string(q)+`?`, chroma.LiteralString)
	}
	for _, q := range l.long {
		rule(string(q)+`(?:[^`+string(q)+`\\]|\\(?s:.))*`+string(q)+`?`, chroma.LiteralString)
	}
	rule(`(?:0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`, chroma.LiteralNumber)
	root = append(root, chroma.Rule{Pattern: `[\p{L}_$][\p{L}\d_$]*`, Type: chroma.EmitterFunc(l.word())})
	rule(`[-+*/%=<>!&|^~?:.,;(){}\[\]@#\\]+`, chroma.Punctuation)
	rule(`(?s:.)`, chroma.Text)
	return chroma.Rules{"root": root}
}

// word tells words apart by a table, which is faster than by patterns.
func (l *language) word() func(groups []string, state *chroma.LexerState) chroma.Iterator {
	kinds := map[string]chroma.TokenType{}
	for word := range strings.FieldsSeq(l.values) {
		kinds[word] = chroma.KeywordConstant
	}
	for word := range strings.FieldsSeq(l.words) {
		kinds[word] = chroma.Keyword
	}
	return func(groups []string, state *chroma.LexerState) chroma.Iterator {
		word := groups[0]
		if l.fold {
			word = strings.ToLower(word)
		}
		kind, known := kinds[word]
		if !known {
			kind = chroma.Name
			if state.Pos < len(state.Text) && state.Text[state.Pos] == '(' {
				kind = chroma.NameFunction
			}
		}
		return chroma.Literator(chroma.Token{Type: kind, Value: groups[0]})
	}
}

func markup() chroma.Rules {
	return chroma.Rules{
		"root": {
			{Pattern: `<!--(?s:.*?)(?:-->|\z)`, Type: chroma.CommentMultiline},
			{Pattern: `</?[\w:-]+`, Type: chroma.NameTag, Mutator: chroma.Push("tag")},
			{Pattern: `&[#\w]+;`, Type: chroma.NameEntity},
			{Pattern: `[^<&]+`, Type: chroma.Text},
			{Pattern: `(?s:.)`, Type: chroma.Text},
		},
		"tag": {
			{Pattern: `/?>`, Type: chroma.NameTag, Mutator: chroma.Pop(1)},
			{Pattern: `[\w:@.-]+`, Type: chroma.NameAttribute},
			{Pattern: `"[^"]*"?|'[^']*'?`, Type: chroma.LiteralString},
			{Pattern: `(?s:.)`, Type: chroma.Text},
		},
	}
}

func difference() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `@@[^\n]*\n?`, Type: chroma.GenericSubheading},
		{Pattern: `(?:\+\+\+|---|diff |index )[^\n]*\n?`, Type: chroma.GenericHeading},
		{Pattern: `\+[^\n]*\n?`, Type: chroma.GenericInserted},
		{Pattern: `-[^\n]*\n?`, Type: chroma.GenericDeleted},
		{Pattern: `[^\n]*\n|[^\n]+`, Type: chroma.Text},
	}}
}
