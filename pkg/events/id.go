package events

import (
	"encoding/hex"
	"hash/fnv"
	"net/url"
	"strings"
)

// Limits of ids, names and labels, and the number of shards.
const (
	MaxID     = 64  // MaxID is the longest id of an expert, job or SubJob, in bytes.
	MaxName   = 256 // MaxName is the longest session, thread, user, concurrency key, label and value of a label, in bytes.
	MaxLabels = 64  // MaxLabels is how many labels a job may have.
	Shards    = 64  // Shards is the number of shards of jobs; it never changes.
)

// Reserved SubJob ids, for work that is not a step of the plan.
const (
	PlanID  = "~plan"  // The planning of the whole job.
	FinalID = "~final" // The finalisation of the result by an expert.
)

// PlannerPool and PlannerExpert address planning work; DefaultPool serves all experts that name no pool.
const (
	PlannerPool   = "~planner"
	PlannerExpert = "~planner"
	DefaultPool   = "default"
)

// ValidID reports whether s may be chosen by a user as an id: [A-Za-z0-9_-]{1,64}.
func ValidID(s string) bool { return len(s) <= MaxID && validToken(s, false) }

// ValidNewID reports whether s may name something new: a ValidID other than dashes alone, which command lines misread.
func ValidNewID(s string) bool { return ValidID(s) && strings.Trim(s, "-") != "" }

// ValidToken also accepts "~", which marks ids made by Jobgraph (SubJobs of a split, planning), up to 512 bytes.
func ValidToken(s string) bool { return len(s) <= 512 && validToken(s, true) }

func validToken(s string, tilde bool) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if !idByte(s[i]) && (!tilde || s[i] != '~') {
			return false
		}
	}
	return true
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// escapeMark begins an id that EscapeID changed. EscapeID never returns the same id for another text.
const escapeMark = "x--"

// EscapeID maps any text to a valid id. A text that is a valid id stays; any other becomes "x--" followed by its bytes,
// each one outside [A-Za-z0-9-] as "_hh". UnescapeID reverses this. An id that would be too long is cut and ends in a hash:
// it is still unique but cannot be reversed, so callers store the original text beside it.
func EscapeID(text string) string {
	if ValidID(text) && !strings.HasPrefix(text, escapeMark) {
		return text
	}
	var b strings.Builder
	b.WriteString(escapeMark)
	for i := range len(text) {
		if c := text[i]; idByte(c) && c != '_' {
			b.WriteByte(c)
		} else {
			b.WriteString("_" + hex.EncodeToString([]byte{c}))
		}
	}
	if b.Len() < MaxID { // A cut id has the full length, so the two never collide.
		return b.String()
	}
	h := fnv.New128a()
	h.Write([]byte(text))
	return b.String()[:MaxID-34] + "--" + hex.EncodeToString(h.Sum(nil))
}

// UnescapeID returns the text that EscapeID mapped, or the id itself if it was not mapped or was cut.
func UnescapeID(id string) string {
	rest, ok := strings.CutPrefix(id, escapeMark)
	text, err := url.PathUnescape(strings.ReplaceAll(rest, "_", "%"))
	if !ok || err != nil || EscapeID(text) != id {
		return id
	}
	return text
}

// Slug derives an expert's id from its name: ASCII letters and digits in lower case, with "-" for any run of other
// characters. A name with other letters is escaped instead.
func Slug(name string) string {
	word := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return !word(c) })
	slug := strings.Join(words, "-")
	if strings.ContainsFunc(name, func(c rune) bool { return c >= 0x80 }) || !ValidID(slug) {
		return EscapeID(name)
	}
	return slug
}

// ShardOf returns the shard of a job: FNV-1a of its id modulo Shards.
func ShardOf(job string) int {
	h := fnv.New32a()
	h.Write([]byte(job))
	return int(h.Sum32() % Shards)
}
