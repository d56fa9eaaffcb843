package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// tongues maps names of languages to their codes (ISO 639-1): models write "Chinese" where a card says "zh".
var tongues = map[string]string{
	"arabic": "ar", "العربية": "ar", "chinese": "zh", "mandarin": "zh", "中文": "zh", "汉语": "zh", "简体中文": "zh", "繁體中文": "zh",
	"czech": "cs", "danish": "da", "dutch": "nl", "nederlands": "nl", "english": "en", "英语": "en", "英文": "en", "finnish": "fi",
	"french": "fr", "français": "fr", "francais": "fr", "法语": "fr", "german": "de", "deutsch": "de", "德语": "de", "greek": "el",
	"hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "italian": "it", "italiano": "it", "japanese": "ja",
	"日本語": "ja", "日语": "ja", "korean": "ko", "한국어": "ko", "韩语": "ko", "norwegian": "no", "polish": "pl", "polski": "pl",
	"portuguese": "pt", "português": "pt", "romanian": "ro", "russian": "ru", "русский": "ru", "spanish": "es", "español": "es",
	"espanol": "es", "西班牙语": "es", "swedish": "sv", "thai": "th", "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
}

// tongue returns the code of a language that is given as a name or a BCP 47 tag, without its region: "zh" for "zh-CN" and
// for "Chinese". A text that is neither stays as it is, in lower case.
func tongue(text string) string {
	text = fold(text)
	if code, ok := tongues[text]; ok {
		return code
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(text, "_", "-"), "-")
	if word, _, several := strings.Cut(first, " "); several && tongues[word] != "" { // "Chinese (simplified)"
		return tongues[word]
	}
	return first
}

// speaks reports whether an expert knows a language; one whose card names no languages knows all.
func speaks(card *events.Card, language string) bool {
	code := tongue(language)
	return code == "" || len(card.Languages) == 0 || slices.ContainsFunc(card.Languages, func(l string) bool { return tongue(l) == code })
}

// translate gives a step to an expert that knows its language, if the step's own does not. An expert that a caller named
// keeps the step; so does one for whom no other can stand in. Then there is a warning.
func (d *draft) translate(s *step, c *catalog, locale string) {
	language := firstOf(s.Language, d.plan.Locale, locale)
	at := c.find(s.Expert)
	if d.version < 1 || len(at) != 1 || s.Done() || speaks(&c.cards[at[0]], language) {
		return
	}
	card := &c.cards[at[0]]
	message := fmt.Sprintf("expert %s does not know the language %.40q, only %s", card.ID, language, some(card.Languages, 8))
	if d.rules != nil {
		if other := c.interpreter(card, s, language); other != nil {
			s.Timeout, s.Retries = s.timeout, s.retries
			d.employ(s, other)
			d.warnings.add(events.CodeInvalid, s.at("language"), message+"; "+other.ID+" takes the step", "")
			return
		}
	}
	d.warnings.add(events.CodeInvalid, s.at("language"), message, "choose an expert that knows it, or add it to the languages of the card")
}

// interpreter returns the expert that knows a language and can stand in for another: it has what the step needs and a skill
// or tag of the other, or of several the most words in common with its card. An expert whose card says nothing of what it
// can do is replaced by the first that knows the language. It returns nil if there is none.
func (c *catalog) interpreter(card *events.Card, s *step, language string) *events.Card {
	abilities := func(card *events.Card) []string {
		return termsOf(strings.Join(slices.Concat([]string{card.Description}, card.Skills, card.Tags), "\n"))
	}
	terms := abilities(card)
	best, most := -1, 0
	for _, i := range c.plannable() {
		other := &c.cards[i]
		if other.Passthrough || !has(other, s.Needs) || !speaks(other, language) {
			continue
		}
		score := scoreOf(other, terms)
		if len(terms) == 0 {
			score = 1
		}
		if score > most {
			best, most = i, score
		}
	}
	if best < 0 {
		return nil
	}
	return &c.cards[best]
}
