package cli

import "testing"

func TestAListShowsAsMuchOfAnIDAsIsNeeded(t *testing.T) {
	all := []string{"01a20a4f-bba3-70c1-a6cc-491b440bbd2d", "01a20a4f-bba3-70c9-969b-bb9e1d8c17d6", "01a20a4f-bb28-7bef-91f7-017c11905d12", "a-name-that-somebody-chose"}
	for i, want := range []string{"01a20a4f-bba3-70c1", "01a20a4f-bba3-70c9", "01a20a4f-bb28", "a-name-that-somebody-chose"} {
		if got := uniqueBeginning(all[i], all); got != want {
			t.Errorf("%s: %s, want %s", all[i], got, want)
		}
	}
}
