package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func TestAListShowsAsMuchOfAnIDAsIsNeeded(t *testing.T) {
	all := []string{"01a20a4f-bba3-70c1-a6cc-491b440bbd2d", "01a20a4f-bba3-70c9-969b-bb9e1d8c17d6", "01a20a4f-bb28-7bef-91f7-017c11905d12", "a-name-that-somebody-chose"}
	for i, want := range []string{"01a20a4f-bba3-70c1", "01a20a4f-bba3-70c9", "01a20a4f-bb28", "a-name-that-somebody-chose"} {
		if got := uniqueBeginning(all[i], all); got != want {
			t.Errorf("%s: %s, want %s", all[i], got, want)
		}
	}
}

func TestAJobWithoutATimeHasNoAge(t *testing.T) {
	now := time.Unix(1000, 0)
	g := views{&app{sys: System{Now: func() time.Time { return now }}}}
	if got, want := g.row(rowOf{id: "j", status: events.Created}, nil).Cells, []string{"j", "CREATED", "0/0", "-", "-", "-"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := g.row(rowOf{id: "j", status: events.Finished, ended: now}, nil).Cells[4], "-"; got != want {
		t.Errorf("took %q, want %q", got, want)
	}
	if got := joblog.Duration(time.Time{}, now); got != 0 {
		t.Errorf("%d ms", got)
	}
}
