package artifact

import (
	"path"
	"strings"
)

// Collision finds the first two of some names that cannot both be files: folder, as a path, is one in which within stands.
func Collision(names []string) (folder, within string, found bool) {
	files := map[string]string{}
	for _, name := range names {
		files[file(name)] = name
	}
	for _, name := range names {
		for at := path.Dir(file(name)); at != "."; at = path.Dir(at) {
			if other, there := files[at]; there {
				return other, name, true
			}
		}
	}
	return "", "", false
}

// file is a name as the path of a file below some folder.
func file(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
