package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// book is the content of configuration and card files, before experts are built.
type book struct {
	config Config
	cards  []cardFile
	// file is the configuration file; nil without one.
	file *host.File
	// faults are the faults found while reading. Cards that cannot be read are left out of cards.
	faults host.Faults
	// secrets are values of the files that must never be printed.
	secrets []string
	// unbuilt means that programs of experts need not exist.
	unbuilt bool
}

// cardFile is one card as read.
type cardFile struct {
	cardSpec
	card events.Card
	// path is the file of the card; at is the prefix of its keys there, "experts[2]." in a configuration.
	path, at string
	file     *host.File
	// body is the text below the front matter.
	body string
}

// fault is a fault of a key of the card, with its place.
func (f *cardFile) fault(code events.Code, field, message, hint string) host.Fault {
	return f.file.Placed(host.Fault{Code: code, File: f.path, Field: strings.TrimSuffix(f.at+field, "."), Message: message, Hint: hint})
}

// judge collects all faults of a card's meaning.
func (f *cardFile) judge() host.Faults {
	var faults host.Faults
	_ = errors.As(f.Validate(), &faults) // Validate has no other errors.
	for i := range faults {
		faults[i].Field = f.at + faults[i].Field
		faults[i] = f.file.Placed(faults[i])
	}
	return faults
}

// same reports whether two versions of a card have the same content, so that the expert need not be built again.
func (f *cardFile) same(other *cardFile) bool {
	return f.path == other.path && f.body == other.body && reflect.DeepEqual(f.cardSpec, other.cardSpec)
}

// readBook reads a configuration file, if there is one, the cards it names, and further card files and folders. It reports all
// faults together.
func readBook(config string, paths []string, env host.Env) *book {
	b := &book{}
	var files []string
	if config != "" {
		files = b.readConfig(config, env)
	}
	named := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == BuiltinExperts })
	files = append(files, b.paths(named, host.Fault{})...)
	slices.Sort(files)
	for _, path := range slices.Compact(files) {
		if filepath.Ext(path) == ".json" {
			b.readAgentCard(path)
			continue
		}
		b.readCard(path, env)
	}
	if len(named) < len(paths) {
		b.addBuiltin()
	}
	return b
}

// readConfig reads the configuration, and returns the card files that it names.
func (b *book) readConfig(path string, env host.Env) (files []string) {
	file, err := host.OpenYAML(path, env, &b.config)
	b.file, b.secrets = file, append(b.secrets, file.Secrets()...)
	if err != nil {
		b.faults = append(b.faults, asFaults(path, err)...)
	}
	for _, f := range b.config.faults() {
		b.faults = append(b.faults, file.Placed(host.Fault{Code: f.Code, Field: f.Field, Message: f.Message, Cause: f.Cause, Hint: f.Hint}))
	}
	for i := range b.config.Experts {
		e := &b.config.Experts[i]
		if e.Full == nil {
			at := file.Placed(host.Fault{File: path, Field: entryAt(i)})
			pattern := e.Text
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(path), pattern)
			}
			files = append(files, b.paths([]string{pattern}, at)...)
			continue
		}
		f := cardFile{cardSpec: *e.Full, path: path, at: entryAt(i) + ".", file: file}
		if faults := f.judge(); len(faults) > 0 {
			b.faults = append(b.faults, faults...)
			continue
		}
		b.take(f)
	}
	return files
}

func (b *book) readCard(path string, env host.Env) {
	f := cardFile{path: path}
	body, file, err := host.OpenFrontMatter(path, env, &f.cardSpec)
	b.add(f, body, file, err)
}

// parseCard takes the text of a card file; path names it in faults.
func (b *book) parseCard(path, text string, env host.Env) {
	f := cardFile{path: path}
	body, file, err := host.ParseFrontMatter(path, text, env, &f.cardSpec)
	b.add(f, body, file, err)
}

// add adds a card as it was read.
func (b *book) add(f cardFile, body string, file *host.File, err error) {
	f.body, f.file = body, file
	b.secrets = append(b.secrets, f.file.Secrets()...)
	if err != nil {
		b.faults = append(b.faults, asFaults(f.path, err)...)
		return
	}
	b.take(f)
}

// take makes the announced card of a card file that was read, and adds both.
func (b *book) take(f cardFile) {
	card, err := f.cardSpec.card()
	if err != nil {
		b.faults = append(b.faults, f.fault(events.CodeInvalid, "output_schema", err.Error(), ""))
		return
	}
	f.card = card
	b.cards = append(b.cards, f)
}

// paths finds card files: named files, files in folders, and files that match patterns. at is where they are named.
func (b *book) paths(paths []string, at host.Fault) (files []string) {
	for _, path := range paths {
		found, fault := cardPaths(path)
		if fault != nil {
			if at.File != "" {
				fault.Cause = strings.TrimSuffix(fault.File+": "+fault.Cause, ": ")
				fault.File, fault.Field, fault.Line, fault.Column = at.File, at.Field, at.Line, at.Column
			}
			b.faults = append(b.faults, *fault)
		}
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && !info.Mode().IsRegular() { // Folders and patterns may lead to anything.
				b.faults = append(b.faults, irregular(f))
				continue
			}
			files = append(files, filepath.Clean(f))
		}
	}
	return files
}

// irregular is the fault of a card file that is not a regular file, such as a pipe, which would block the reader.
func irregular(path string) host.Fault {
	return host.Fault{Code: host.CodeUnreadable, File: path, Message: "is no regular file", Hint: "cards are read again and again: give a file"}
}

func cardPaths(path string) ([]string, *host.Fault) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		found, _ := filepath.Glob(filepath.Join(escapeGlob(path), "*.md")) // The pattern is well-formed.
		if len(found) == 0 {
			return nil, &host.Fault{Code: events.CodeNotFound, File: path, Message: "no cards in this folder", Hint: "cards are files *.md"}
		}
		return found, nil
	case err == nil && !info.Mode().IsRegular():
		fault := irregular(path)
		return nil, &fault
	case err == nil:
		return []string{path}, nil
	case strings.ContainsAny(path, "*?["):
		found, bad := filepath.Glob(path)
		if bad != nil {
			return nil, &host.Fault{Code: events.CodeInvalid, File: path, Message: "is no pattern", Cause: bad.Error(), Hint: "as in experts/*.md"}
		}
		if len(found) == 0 {
			return nil, &host.Fault{Code: events.CodeNotFound, File: path, Message: "the pattern matches no file", Hint: "cards are files such as experts/writer.md"}
		}
		return found, nil
	}
	return nil, &host.Fault{Code: host.CodeUnreadable, File: path, Message: "no such card", Cause: cause(err), Hint: "give a card file, or a folder of *.md"}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func cause(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func asFaults(path string, err error) host.Faults {
	var list host.Faults
	if errors.As(err, &list) {
		return list
	}
	return host.Faults{{Code: events.CodeInvalid, File: path, Message: err.Error()}}
}
