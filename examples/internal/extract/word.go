package extract

import (
	"strings"
	"unicode"
)

// words splits prose into terms: lower-case words of at least four letters that carry meaning. Han text, which has no spaces,
// yields pairs of characters.
func words(body string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(body, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) {
		runes := []rune(word)
		if unicode.Is(unicode.Han, runes[0]) {
			for i := range len(runes) - 1 {
				found = append(found, string(runes[i:i+2]))
			}
			continue
		}
		word = strings.Trim(strings.ToLower(word), "-'")
		if len([]rune(word)) >= 4 && len(word) <= 40 && !isCommon(word) {
			found = append(found, word)
		}
	}
	return found
}

// isCommon reports whether a word is common in any English text.
func isCommon(word string) bool {
	switch word {
	case "about", "above", "after", "again", "against", "also", "although", "always", "among", "another", "anything",
		"around", "because", "been", "before", "behind", "being", "below", "between", "both", "called", "cannot", "come",
		"comes", "could", "does", "doesn't", "doing", "done", "don't", "down", "during", "each", "either", "else", "enough",
		"even", "ever", "every", "everything", "from", "further", "gets", "give", "given", "gives", "goes", "going", "have",
		"having", "hence", "here", "however", "into", "isn't", "it's", "itself", "just", "keep", "keeps", "kept", "knows",
		"last", "least", "less", "like", "made", "make", "makes", "many", "more", "most", "much", "must", "need", "needs",
		"neither", "never", "next", "nobody", "none", "nothing", "once", "only", "onto", "other", "others", "otherwise",
		"over", "own", "rather", "same", "says", "shall", "should", "since", "some", "something", "still", "such", "take",
		"taken", "takes", "than", "that", "that's", "their", "them", "then", "there", "therefore", "these", "they", "thing",
		"things", "this", "those", "though", "through", "thus", "together", "under", "until", "upon", "used", "uses",
		"using", "very", "want", "wants", "well", "went", "were", "what", "whatever", "when", "where", "whether", "which",
		"while", "whole", "whose", "will", "with", "within", "without", "would", "your", "yours":
		return true
	}
	return false
}
