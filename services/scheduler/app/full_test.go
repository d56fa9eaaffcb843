//go:build sweep

package app

import (
	"testing"
)

func TestACrashAtAnyBoundaryChangesNothing(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			s.crashes(t, func(points []string) (all []int) {
				for i := range points {
					all = append(all, i)
				}
				return all
			})
		})
	}
}

func TestASchedulerThatFreezesAndWakesAnywhereDoesNoHarm(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) { s.pauses(t, 6) })
	}
}
