package events

import (
	"strings"
	"testing"
	"testing/quick"
)

func TestEscapedIdsAreValidDistinctAndReversible(t *testing.T) {
	seen := map[string]string{}
	check := func(text string) bool {
		id := EscapeID(text)
		if before, taken := seen[id]; taken && before != text {
			t.Logf("%q and %q both become %s", before, text, id)
			return false
		}
		seen[id] = text
		cut := len(id) == MaxID && id != text
		return ValidID(id) && (UnescapeID(id) == text || cut && UnescapeID(id) == id)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("ä", 40)
	for _, text := range []string{"", "a", "x--", "x--a_20b", "x--_", "_", "a.b", "a b", "a*", ">", "Größe", long, long + "b", EscapeID(long), "a b" + strings.Repeat("c", 60), strings.Repeat("d", 64), strings.Repeat("d", 65), "\xff\x00"} {
		if !check(text) {
			t.Errorf("%q becomes %q", text, EscapeID(text))
		}
	}
}

func TestUnescapeGivesBackWhatWasNeverEscaped(t *testing.T) {
	for _, id := range []string{"abc", "x--_", "x--_4", "x--_zz", "x--a", "x--_41", ""} {
		if got := UnescapeID(id); got != id {
			t.Errorf("%q becomes %q", id, got)
		}
	}
}

func TestAnExpertsIdIsMadeFromItsName(t *testing.T) {
	for name, want := range map[string]string{
		"Design Expert": "design-expert", "  A  (b)_c!": "a-b-c", "plain": "plain", "分析": EscapeID("分析"), "Größe": EscapeID("Größe"), "!!": EscapeID("!!"),
		strings.Repeat("long ", 20): EscapeID(strings.Repeat("long ", 20)),
	} {
		if got := Slug(name); got != want || !ValidID(got) {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestIdsThatDoNotFitASubjectAreRefused(t *testing.T) {
	for _, id := range []string{"", "a.b", "a b", "*", ">", "a\n", "ä", "~a", strings.Repeat("a", 65)} {
		if ValidID(id) {
			t.Errorf("%q is valid", id)
		}
	}
	for _, token := range []string{"", "a.b", "a b", "*", strings.Repeat("a", 513)} {
		if ValidToken(token) {
			t.Errorf("%q is a valid token", token)
		}
	}
	if !ValidID("aZ0_-") || !ValidToken("a~2~b") {
		t.Error("a good id is refused")
	}
}
