package scan

import (
	"path"
	"strings"
)

// languageOf returns name and kind of the language a file is written in, by its name; ok is false for others.
func languageOf(name string) (language, kind string, ok bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".go":
		return "Go", Code, true
	case ".py":
		return "Python", Code, true
	case ".js", ".mjs", ".cjs", ".jsx":
		return "JavaScript", Code, true
	case ".ts", ".tsx", ".mts":
		return "TypeScript", Code, true
	case ".rs":
		return "Rust", Code, true
	case ".java":
		return "Java", Code, true
	case ".c", ".h":
		return "C", Code, true
	case ".cc", ".cpp", ".cxx", ".hpp", ".hh":
		return "C++", Code, true
	case ".sh", ".bash":
		return "Shell", Code, true
	case ".md", ".markdown":
		return "Markdown", Text, true
	case ".txt", ".text":
		return "Text", Text, true
	case ".rst":
		return "reStructuredText", Text, true
	case ".adoc":
		return "AsciiDoc", Text, true
	}
	if name == "README" || name == "CHANGELOG" || name == "NOTES" {
		return "Text", Text, true
	}
	return "", "", false
}

// closedFolder says why a folder is not entered; "" if it is.
func closedFolder(name string) string {
	switch name {
	case ".":
		return ""
	case "node_modules", "vendor", "third_party", "site-packages", "bower_components":
		return "code of others"
	case "target", "dist", "build", "bin", "out", "__pycache__", "venv":
		return "built files"
	case "testdata", "fixtures":
		return "test data"
	}
	if strings.HasPrefix(name, ".") {
		return "hidden folder"
	}
	return ""
}

// isTest reports whether a file tests others, by the usual names.
func isTest(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	return strings.HasSuffix(stem, "_test") || strings.HasPrefix(name, "test_") ||
		strings.Contains(name, ".test.") || strings.Contains(name, ".spec.") || name == "conftest.py"
}
