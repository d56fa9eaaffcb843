package incarnation

import "testing"

func TestAnIDNamesTheRequestOfItsJob(t *testing.T) {
	for id, want := range map[string]uint64{
		ID("j", 7) + "/a/1": 7, ID("j", 7) + "/input.requested/a/1": 7, ID("j@7", 8) + "/a/1": 0, ID("j", 7): 0, "j/a/1": 0, "k@7/a/1": 0, "j@x/a/1": 0, "j@-7/a/1": 0, "": 0,
	} {
		if got := Of(id, "j"); got != want {
			t.Errorf("%q: %d, want %d", id, got, want)
		}
	}
	if got := Of(ID("j@7", 8)+"/a/1", "j@7"); got != 8 {
		t.Errorf("an id with the mark in it: %d", got)
	}
}
