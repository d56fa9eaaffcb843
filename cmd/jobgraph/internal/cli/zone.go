package cli

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	due "github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// Where a system stores its time zone: a link into the zone files, or a file with the name.
const (
	zoneLink = "/etc/localtime"
	zoneFile = "/etc/timezone"
)

// localZone returns the IANA name of the user's time zone: from TZ if it is set, else of the machine; "" if it cannot be
// determined.
func localZone(env host.Env) string {
	if env == nil { // A process without an environment has no user.
		return ""
	}
	if tz, set := env("TZ"); set {
		return named(strings.TrimPrefix(tz, ":"))
	}
	if to, err := filepath.EvalSymlinks(zoneLink); err == nil {
		if zone := named(to); zone != "" {
			return zone
		}
	}
	text, err := os.ReadFile(zoneFile)
	if err != nil {
		return ""
	}
	return named(string(text))
}

// named returns the name of a zone or zone file, or "" if there is no such zone. All names of UTC count as one.
func named(zone string) string {
	zone = strings.TrimSpace(zone)
	if _, in, ok := strings.Cut(zone, "/zoneinfo/"); ok {
		zone = in
	}
	switch zone {
	case "", "Etc/UTC", "Etc/UCT", "Etc/Zulu", "Zulu", "UCT":
		return time.UTC.String()
	}
	if due.CheckZone("", zone, time.LoadLocation) != nil {
		return ""
	}
	return zone
}
