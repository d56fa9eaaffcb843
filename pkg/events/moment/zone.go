package moment

import (
	"cmp"
	_ "embed" // The names of the time zones.
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/near"
)

//go:embed zones.txt
var zoneNames string

// mostClose is how many names a fault proposes.
const mostClose = 3

// CheckZone returns a fault if a time zone does not exist; its hint proposes names that are close to it. An empty name is
// not a fault.
func CheckZone(field, name string, zones Zones) *events.Fault {
	if name == "" {
		return nil
	}
	if _, err := zones(name); err == nil && name != "Local" {
		return nil
	}
	f := &events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf("unknown time zone %.60q", name), Hint: zoneHint}
	if close := CloseZones(name); len(close) > 0 {
		f.Hint = "did you mean " + strings.Join(close, ", ") + "?"
	}
	return f
}

const zoneHint = `use an IANA name, "Europe/Berlin" for one`

// CloseZones returns names of time zones that a text may mean, the closest first: the same name in another case, a city or country
// alone, or a name with a few wrong letters.
func CloseZones(text string) []string {
	type candidate struct {
		name string
		far  int
	}
	wanted := plainZone(text)
	if wanted == "" || len(wanted) > 60 {
		return nil
	}
	last := wanted[strings.LastIndexByte(wanted, '/')+1:]
	var list []candidate
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		whole := plainZone(name)
		city := whole[strings.LastIndexByte(whole, '/')+1:]
		far := min(near.Distance(whole, wanted), 1+near.Distance(city, last))
		if len(last) >= 4 && strings.Contains(whole, last) {
			far = min(far, 2)
		}
		if far <= min(2, 1+len(last)/4) {
			list = append(list, candidate{name, far})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name)) })
	names := make([]string, 0, mostClose)
	for _, c := range list[:min(len(list), mostClose)] {
		names = append(names, c.name)
	}
	return names
}

// plainZone returns a name in lower case, with one spelling of what separates its words.
func plainZone(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_", "\\", "/").Replace(strings.ToLower(strings.TrimSpace(name)))
}
