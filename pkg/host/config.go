package host

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// readConfig reads settings from the key "settings" of the configuration file: those of every program directly, those of
// one program below its name. A top-level section with the program's name takes precedence. Callers of ReadYAML read the
// rest of the file.
//
//	settings:
//	  log-level: debug
//	  scheduler: {partitions: 4}
//	planner: {default-expert: writer}
func (f *Flags) readConfig() Faults {
	if f.config == "" {
		return nil
	}
	text, err := readSmall(f.config)
	if err != nil {
		return Faults{unreadable(f.config, err)}
	}
	d := newDocument(f.config, f.env, text)
	root, ok := d.parse(text)
	if !ok {
		return d.faults
	}
	d.checkVersion(root)
	if section := child(root, keySettings); section != nil {
		f.takeSection(d, section, keySettings)
		if own := child(section, f.program); own != nil && own.Kind == yaml.MappingNode {
			f.takeSection(d, own, keySettings+"."+f.program)
		}
	}
	if own := child(root, f.program); own != nil {
		f.takeSection(d, own, f.program)
	}
	return d.faults
}

// FileSettings lists the settings in a configuration file by their path of keys, whichever program they are for. Errors: Faults.
func FileSettings(path string) ([]string, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, Faults{unreadable(path, err)}
	}
	d := newDocument(path, nil, text)
	root, ok := d.parse(text)
	if !ok {
		return nil, d.faults
	}
	var names []string
	for _, section := range []string{keySettings, "planner", "scheduler", "expert-runner", "jobgraph"} {
		if node := child(root, section); node != nil {
			names = append(names, settingsBelow(node, section)...)
		}
	}
	return names, nil
}

// settingsBelow lists the paths of all values in a section.
func settingsBelow(node *yaml.Node, path string) (names []string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		return []string{path}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		names = append(names, settingsBelow(node.Content[i+1], path+"."+node.Content[i].Value)...)
	}
	return names
}

func (f *Flags) takeSection(d *document, section *yaml.Node, field string) {
	if section.ShortTag() == "!!null" {
		return
	}
	if section.Kind != yaml.MappingNode {
		d.fault(section, field, events.CodeInvalid, "is "+nodeKind(section)+", expected keys and values", "")
		return
	}
	d.pairs(section, field, func(key, value *yaml.Node, path string) {
		e := f.find(key.Value)
		switch {
		case value.Kind == yaml.MappingNode && field == keySettings && e == nil:
			// A section of a program: ours is read after the common one, the others are ignored.
		case e == nil || e.Name == configFlag:
			d.fault(key, path, events.CodeUnknownField, "unknown setting",
				fmt.Sprintf("--help lists all; those of one program stand below its name: %s.%s", keySettings, f.program))
		default:
			f.takeValue(d, e, value, path)
		}
	})
}

func (f *Flags) takeValue(d *document, e *entry, node *yaml.Node, path string) {
	before := len(d.faults)
	var text string
	if node.Kind == yaml.SequenceNode {
		d.walk(node, reflect.TypeFor[[]string](), path)
		var list []string
		for _, item := range node.Content {
			list = append(list, item.Value)
		}
		text = strings.Join(list, ",")
	} else {
		d.walk(node, reflect.TypeFor[string](), path)
		text = node.Value
	}
	if len(d.faults) == before && node.ShortTag() != "!!null" {
		e.give(text, FromConfig, Fault{Field: path, File: d.path, Line: node.Line, Column: node.Column})
	}
}
