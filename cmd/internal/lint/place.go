package lint

import (
	"regexp"
	"slices"
	"strings"
)

// ownPath matches paths that exist only on their author's machine.
var ownPath = regexp.MustCompile(`(^|[\s"'=(:` + "`" + `])(/(?:root|home|Users|work)/([\w.-]+)|[A-Z]:\\Users\\)`)

// placeholders stand for any user in examples.
var placeholders = []string{"me", "you", "user"}

// ownHost is the host of a private registry, mirror or proxy.
var ownHost = regexp.MustCompile(`\b([\w-]+\.)*(artifactory|nexus|mirror|registry|goproxy)[\w-]*(\.[\w-]+)+(:\d+)?/`)

// Places finds paths and hosts that exist only where a file was written. Checksum files are left out.
func Places(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Text {
		if strings.HasSuffix(file.Path, ".sum") {
			continue
		}
		for n, line := range strings.Split(string(file.Source), "\n") {
			for _, place := range ownPath.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(placeholders, place[3]) {
					found = append(found, Finding{file.Path, n + 1, place[2] + ": a path of one machine; make it relative or a setting"})
				}
			}
			if host := ownHost.FindString(line); host != "" {
				found = append(found, Finding{file.Path, n + 1, host + ": a host of one network; leave it to the user's settings"})
			}
		}
	}
	return sorted(found)
}
