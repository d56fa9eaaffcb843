package moment

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryNameInTheListIsATimeZone(t *testing.T) {
	n := 0
	for name := range strings.Lines(zoneNames) {
		if f := CheckZone("timezone", strings.TrimSpace(name), time.LoadLocation); f != nil {
			t.Errorf("%+v", f)
		}
		n++
	}
	if n < 500 {
		t.Errorf("%d names", n)
	}
}

// proves V-weakness-9
func TestAnUnknownTimeZoneNamesThoseThatAreClose(t *testing.T) {
	for text, want := range map[string]string{
		"europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "Europe/Berln": "Europe/Berlin", "new york": "America/New_York",
		"Asia/Calcuta": "Asia/Calcutta", "America/New-York": "America/New_York", "Shanghai": "Asia/Shanghai", "utcc": "UTC",
	} {
		f := CheckZone("timezone", text, time.LoadLocation)
		if f == nil || !slices.Contains(CloseZones(text), want) || !strings.Contains(f.Hint, want) {
			t.Errorf("%s: %+v, want %s", text, f, want)
		}
	}
	for _, text := range []string{"Mars/Olympus", "Local", strings.Repeat("x", 1000), "../../etc/passwd"} {
		if f := CheckZone("timezone", text, time.LoadLocation); f == nil || f.Hint == "" || len(f.Message) > 100 {
			t.Errorf("%.40q: %+v", text, f)
		}
	}
	if f := CheckZone("timezone", "", time.LoadLocation); f != nil {
		t.Errorf("%+v", f)
	}
}
