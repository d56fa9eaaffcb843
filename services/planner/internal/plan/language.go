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

// tongue returns the language code for a name or a BCP 47 tag, without a region: "zh" for "zh-CN" and for "Chinese". Any other text
// is returned in lower case.
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

// speaks reports whether an expert knows a language; an expert whose card names no languages knows all.
func speaks(card *events.Card, language string) bool {
	code := tongue(language)
	return code == "" || len(card.Languages) == 0 || slices.ContainsFunc(card.Languages, func(l string) bool { return tongue(l) == code })
}

// translate gives a step to an expert that knows its language if the step's own expert does not. The expert stays, with a warning,
// if a caller has named it or no other can replace it.
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

// interpreter returns the expert that knows a language and can replace another one: it has what the step needs, and a skill or tag
// of the other; of several the one whose card has the most words in common. If a card does not say what its expert can do, the
// first expert that knows the language replaces it. The result is nil if there is none.
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
