package scan

// The kinds of files an extraction can read.
const (
	Code = "code"
	Text = "text"
)

// Inventory is the result of a survey.
type Inventory struct {
	// Root is the folder, absolute.
	Root string `json:"root"`
	// CodeFiles is the number of chosen files with program text.
	CodeFiles int `json:"code_files"`
	// TextFiles is the number of chosen files with prose.
	TextFiles int `json:"text_files"`
	// Files is the number of regular files that were found.
	Files int `json:"files"`
	// Bytes is the total size of these files.
	Bytes int64 `json:"bytes"`
	// Languages counts the chosen files, the largest first.
	Languages []Language `json:"languages"`
	// Folders are the folders with most chosen files, the fullest first.
	Folders []Folder `json:"folders"`
	// Chosen are the files that matter, the most important first.
	Chosen []File `json:"chosen"`
	// LeftOut says what was not chosen, and why.
	LeftOut []Reason `json:"left_out"`
	// Schema is what an extraction from these files can find.
	Schema Schema `json:"schema"`
}

// Language counts the files of one language.
type Language struct {
	// Name is the language's usual name.
	Name string `json:"name"`
	// Kind is Code or Text.
	Kind string `json:"kind"`
	// Files is the number of files in this language.
	Files int `json:"files"`
	// Lines is the number of lines in them.
	Lines int `json:"lines"`
}

// Folder counts the files of one folder.
type Folder struct {
	// Path is relative to the root, with slashes.
	Path string `json:"path"`
	// Files is the number of chosen files directly in it.
	Files int `json:"files"`
}

// File is one chosen file.
type File struct {
	// Path is relative to the root, with slashes.
	Path string `json:"path"`
	// Kind is Code or Text.
	Kind string `json:"kind"`
	// Language is the language's usual name.
	Language string `json:"language"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// Lines is the number of lines in the file.
	Lines int `json:"lines"`
}

// Reason counts what was left out for one reason.
type Reason struct {
	// Reason says why the files or folders were left out.
	Reason string `json:"reason"`
	// Count is how many files or folders it concerns.
	Count int `json:"count"`
	// Example is one of their paths.
	Example string `json:"example"`
}

// Schema says which kinds of things to expect.
type Schema struct {
	// Entities are the kinds of things that can be found, such as "func" and "heading".
	Entities []string `json:"entities"`
	// Relations are the verbs that connect two of them, such as "calls".
	Relations []string `json:"relations"`
}

// schemaOf decides what can be found in files of the given kinds.
func schemaOf(code, text bool) Schema {
	s := Schema{Entities: []string{}, Relations: []string{}}
	if code {
		s.Entities = append(s.Entities, "package", "type", "func", "module", "definition", "library")
		s.Relations = append(s.Relations, "declares", "imports", "calls", "uses")
	}
	if text {
		s.Entities = append(s.Entities, "document", "heading", "name", "term", "site")
		s.Relations = append(s.Relations, "contains", "links", "mentions", "cooccurs")
	}
	if code && text {
		s.Relations = append(s.Relations, "describes")
	}
	return s
}
