package console_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Text has a contrast of 4.5 to 1 against its background, even on a chip of its own colour; lines and borders of fields have 3 to
// 1. These are the limits of WCAG 2.2, level AA.
func TestColoursHaveContrast(t *testing.T) {
	css := musttest.Read(t, "web/theme.css")
	themes := regexp.MustCompile(`(?s)color-scheme: (light|dark);(.*?)\}`).FindAllSubmatch(css, -1)
	if len(themes) != 3 {
		t.Fatalf("%d themes: light, dark by the system, dark by choice", len(themes))
	}
	if squeeze(themes[1][2]) != squeeze(themes[2][2]) {
		t.Error("the two dark themes differ")
	}
	for _, theme := range themes {
		colours := map[string]colour{}
		for _, c := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllSubmatch(theme[2], -1) {
			n := musttest.Get(strconv.ParseUint(string(c[2]), 16, 32))(t)
			colours[string(c[1])] = colour{float64(n >> 16), float64(n >> 8 & 255), float64(n & 255)}
		}
		check := func(what string, over, under colour, least float64) {
			luminance := func(c colour) float64 {
				for i := range c {
					if c[i] /= 255; c[i] <= 0.04045 {
						c[i] /= 12.92
					} else {
						c[i] = math.Pow((c[i]+0.055)/1.055, 2.4)
					}
				}
				return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
			}
			x, y := luminance(over), luminance(under)
			if got := (max(x, y) + 0.05) / (min(x, y) + 0.05); got < least {
				t.Errorf("%s: %s has %.2f to 1, at least %.1f", theme[1], what, got, least)
			}
		}
		check("accent-text on accent", colours["accent-text"], colours["accent"], 4.5)
		for _, behind := range []string{"bg", "surface", "raised"} {
			for _, words := range []string{"text", "muted", "accent"} {
				check(fmt.Sprint(words, " on ", behind), colours[words], colours[behind], 4.5)
			}
			for _, state := range []string{"planned", "ready", "running", "waiting", "finished", "failed", "stopped", "skipped", "replaced"} {
				check(fmt.Sprint(state, " on its chip on ", behind), colours[state], colours[behind].tinted(colours[state]), 4.5)
			}
			check("edge on "+behind, colours["edge"], colours[behind], 3)
		}
		check("text on accent-soft", colours["text"], colours["accent-soft"], 4.5)
		check("muted on accent-soft", colours["muted"], colours["accent-soft"], 4.5)
	}
}

// squeeze removes the white space from a text.
func squeeze(text []byte) string {
	return regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
}

// colour has red, green and blue from 0 to 255.
type colour [3]float64

// tinted mixes a colour with as much of another one as chips have at most.
func (c colour) tinted(with colour) colour {
	for i := range c {
		c[i] = 0.85*c[i] + 0.15*with[i]
	}
	return c
}
