package api

import (
	"strings"
	"unicode"
)

// verdict is what a text decides about what a person is shown.
type verdict int

const (
	undecided verdict = iota
	accepts
	rejects
)

// The words by which people decide; a text decides if it has words of one list and courtesies only.
var (
	yes = set("accept accepted approve approved yes y ok okay confirm confirmed agreed go ahead proceed continue 确认 好的 好 可以 行 同意 接受 是 批准")
	no  = set("reject rejected no n cancel decline stop refuse 拒绝 取消 不 不行 不要 否 不同意 不接受 不可以 不好 不确认 不是 不批准")
	by  = set("please thanks thank you kindly sure i it that is 请 谢谢")
)

func set(words string) map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		list[word] = true
	}
	return list
}

// decision is what a text of known words decides. One that says both decides nothing.
func decision(text string) verdict {
	said := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	var yeses, noes int
	for _, word := range said {
		switch {
		case yes[word]:
			yeses++
		case no[word]:
			noes++
		case !by[word]:
			return undecided
		}
	}
	switch {
	case yeses > 0 && noes == 0:
		return accepts
	case noes > 0 && yeses == 0:
		return rejects
	}
	return undecided
}

// edits reports whether a text asks for a change of a plan.
func edits(text string) bool {
	text = strings.TrimLeft(strings.ToLower(text), "[ ")
	for _, word := range []string{"edit", "修改"} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}
