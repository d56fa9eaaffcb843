package artifact

import (
	"path"
	"strings"
)

// Collision finds the first two names that cannot both be files, because one, folder, is a parent directory of the other,
// within.
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

// file returns a name as the path of a file below some folder.
func file(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
