package plan

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The kinds of remarks, one for each mark of a good plan (D19 in docs/conformance.md).
const (
	RemarkSensible   = "sensible"   // Steps that repeat each other, or the request, or only sum up.
	RemarkExecutable = "executable" // Steps with too little information to be done.
	RemarkLanguage   = "language"   // Texts in another language than the plan's.
	RemarkType       = "step_type"  // Steps whose type does not match what they do.
)

// Remark is a doubt about a valid plan. It stops nothing; metrics count it, to compare prompts and models.
type Remark struct {
	// Kind is one of the kinds above. SubJob is the step concerned, empty for the whole plan.
	Kind   string `json:"kind"`
	SubJob string `json:"subjob,omitempty"`
	// Message says what is doubtful.
	Message string `json:"message"`
}

var (
	computing  = regexp.MustCompile(`(?i)\b(?:calculate|compute|regression|standard deviation|average of|sum up the numbers)\b|计算|求和|求平均|回归`)
	concluding = regexp.MustCompile(`(?i)^\s*(?:summari[sz]e|write (?:the|a) (?:final )?(?:report|summary)|compile (?:the|a) (?:final )?report)\b|^\s*(?:总结|撰写(?:最终)?报告|汇总以上)`)
)

// fewestLetters is the length below which a goal is too short to say what to do; a Han character counts more.
const fewestLetters = 8

// Quality reviews a valid plan and returns what looks doubtful.
func Quality(p *events.Plan) []Remark {
	var list []Remark
	add := func(kind string, s *events.SubJob, format string, args ...any) {
		list = append(list, Remark{Kind: kind, SubJob: s.ID, Message: fmt.Sprintf(format, args...)})
	}
	seen := map[string]string{}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		text := fold(s.Goal)
		if other, again := seen[text+"\n"+fold(s.Context)+"\n"+s.Expert]; again {
			add(RemarkSensible, s, "asks for the same as %s", other)
		}
		seen[text+"\n"+fold(s.Context)+"\n"+s.Expert] = s.ID
		if len(p.SubJobs) > 1 && text != "" && text == fold(p.OrigQuery) {
			add(RemarkSensible, s, "repeats the whole request")
		}
		if len(p.SubJobs) > 1 && concluding.MatchString(s.Goal) {
			add(RemarkSensible, s, "only sums up")
		}
		if weight(s.Goal) < fewestLetters && !s.Done() {
			add(RemarkExecutable, s, "says hardly what to do")
		}
		if s.Type == "research" && computing.MatchString(s.Goal) {
			add(RemarkType, s, "is research and computes")
		}
		if foreign(s.Title+" "+s.Goal, p.Locale) {
			add(RemarkLanguage, s, "is not written in %s", p.Locale)
		}
	}
	return list
}

// weight counts letters; a Han character counts as four.
func weight(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			n += 4
		case unicode.IsLetter(r):
			n++
		}
	}
	return n
}

// foreign reports whether a text is in a script other than the locale's, as far as scripts tell: Chinese without any Han character,
// or a language with Latin letters mostly in Han.
func foreign(text, locale string) bool {
	han, letters := 0, 0
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			han++
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	language, _, _ := strings.Cut(strings.ToLower(locale), "-")
	switch language {
	case "zh":
		return letters > 0 && han == 0
	case "en", "de", "fr", "es", "it", "pt", "nl":
		return han*2 > letters
	}
	return false
}
