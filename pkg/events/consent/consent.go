package consent

import (
	"strings"
	"unicode"
)

// Decision is what a text says to a yes-or-no question.
type Decision int

// The decisions. A text that does not clearly accept or reject is Undecided.
const (
	Undecided Decision = iota
	Accepted
	Rejected
)

// The words. Courtesies change no decision; "sure" without any other word accepts.
const (
	yes = " accept accepted agree agreed approve approved yes y ok okay confirm confirmed go ahead proceed continue" +
		" 确认 好的 好 可以 行 同意 接受 是 批准 "
	no = " reject rejected no nope n cancel decline stop refuse" +
		" 拒绝 取消 不 不行 不要 否 不同意 不接受 不可以 不好 不确认 不是 不批准 "
	courtesies = " please thanks thank you kindly sure i it that is 请 谢谢 "
)

// Of reads a text that consists only of these words and punctuation. A text that says both, or asks back, is Undecided.
func Of(text string) Decision {
	words, sure := Words(text)
	accepts, rejects := 0, 0
	for _, word := range words {
		switch word = " " + word + " "; {
		case strings.Contains(yes, word):
			accepts++
		case strings.Contains(no, word):
			rejects++
		default:
			return Undecided
		}
	}
	switch {
	case strings.ContainsAny(text, "?？") || accepts > 0 && rejects > 0:
		return Undecided
	case rejects > 0:
		return Rejected
	case accepts > 0 || sure:
		return Accepted
	}
	return Undecided
}

// Because also reads a rejection with a reason: "no, because …", "不行，太贵了". The reason is "" if the text has none.
func Because(text string) (d Decision, reason string) {
	if d = Of(text); d != Undecided {
		return d, ""
	}
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, separates)
	if end < 0 || Of(text[:end]) != Rejected {
		return Undecided, ""
	}
	rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
	reason = strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	if because := strings.HasPrefix(strings.ToLower(reason), "because ") || strings.HasPrefix(reason, "因为"); rest == reason && !because || Of(reason) != Undecided {
		return Undecided, ""
	}
	return Rejected, reason
}

// Words lists the words of a text in lower case without its courtesies. sure is true if "sure" was one of them.
func Words(text string) (words []string, sure bool) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), separates) {
		sure = sure || word == "sure"
		if strings.Contains(courtesies, " "+word+" ") {
			continue
		}
		words = append(words, strings.TrimPrefix(strings.TrimSuffix(word, "谢谢"), "请"))
	}
	return words, sure
}

// separates reports whether a character separates words: "don't" and "no-one" are one word each.
func separates(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune("'’-_", r)
}
