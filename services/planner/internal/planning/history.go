package planning

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

const (
	historyHead = "---- Conversation so far ----"
	historyTail = "---- End of the conversation ----"
)

// History formats a conversation for a prompt in at most most bytes. The latest turns take precedence. Without turns it is "".
func History(turns []Turn, most int) string {
	var kept []string
	size := 0
	for i := len(turns) - 1; i >= 0; i-- {
		text := turns[i].text()
		if room := most - size; len(text) > room {
			if len(kept) > 0 || room <= 0 {
				break
			}
			text = clip.Marked(text, room)
		}
		size += len(text)
		kept = append(kept, text)
	}
	if len(kept) == 0 {
		return ""
	}
	out := []byte(historyHead + "\n")
	if left := len(turns) - len(kept); left > 0 {
		out = fmt.Appendf(out, "[… %d earlier turns left out …]\n", left)
	}
	for i := len(kept) - 1; i >= 0; i-- {
		out = append(out, kept[i]+"\n"...)
	}
	return string(append(out, historyTail...))
}

func (t *Turn) text() string {
	text := "[User]\n" + strings.TrimSpace(t.User)
	for i, step := range t.Steps {
		text += fmt.Sprintf("\n[Step %d] %s", i+1, strings.TrimSpace(step))
	}
	for _, asked := range t.Asked {
		text += "\n[Question → answer] " + strings.TrimSpace(asked)
	}
	if answer := strings.TrimSpace(t.Answer); answer != "" {
		text += "\n[Answer]\n" + answer
	}
	return text
}

// Delimited formats findings for a prompt in at most most bytes, each between tags. A text cannot close its own tag, so it stays
// data whatever it contains.
func Delimited(findings []Finding, most int) string {
	var out []byte
	for i := range findings {
		f := &findings[i]
		room := most - len(out)
		if room <= 0 {
			out = fmt.Appendf(out, "(%d more findings left out)\n", len(findings)-i)
			break
		}
		out = fmt.Appendf(out, "<finding source=%q title=%q>\n", harmless(clip.Marked(f.Source, 200)), harmless(clip.Marked(f.Title, 200)))
		out = append(out, harmless(clip.Marked(f.Text, room))+"\n</finding>\n"...)
	}
	return strings.TrimSpace(string(out))
}

// harmless breaks up text in data that looks like one of our tags.
func harmless(text string) string {
	var b strings.Builder
	for {
		i := indexFold(text, "finding")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		head := strings.TrimRight(text[:i], " \t\r\n/")
		if n := len(head); n > 0 && head[n-1] == '<' {
			b.WriteString(head[:n-1] + "&lt;" + text[n:i])
		} else {
			b.WriteString(text[:i])
		}
		b.WriteString(text[i : i+len("finding")])
		text = text[i+len("finding"):]
	}
}

// indexFold finds an ASCII word, ignoring case.
func indexFold(text, word string) int {
	for i := 0; i+len(word) <= len(text); i++ {
		if strings.EqualFold(text[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}
