package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms are all texts as which a secret is found.
func forms(secret string) []string {
	all := []string{secret}
	for _, form := range slices.Concat(
		escaped(secret), []string{url.QueryEscape(secret), url.PathEscape(secret), allEscaped(secret), hex.EncodeToString([]byte(secret))}, encoded(secret),
	) {
		all = append(all, form, lowerEscapes(form))
	}
	all = append(all, strings.ToUpper(hex.EncodeToString([]byte(secret))))
	slices.Sort(all)
	return slices.Compact(all)
}

// escaped are the forms that a secret has in JSON, and in JSON within a text of JSON.
func escaped(secret string) []string {
	once := jsonForms(secret)
	all := slices.Clone(once)
	for _, form := range once {
		all = append(all, jsonForms(form)...)
	}
	return all
}

// jsonForms are what encoders make of a text: with and without escapes for HTML, with slashes escaped, and in ASCII alone.
func jsonForms(text string) []string {
	if !utf8.ValidString(text) {
		return nil // It cannot be in JSON as it is.
	}
	html, _ := json.Marshal(text) // A text can be encoded.
	quoted := string(html[1 : len(html)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(quoted)
	all := []string{quoted, plain, strings.ReplaceAll(plain, "/", `\/`)}
	if ascii := inASCII(plain); ascii != plain {
		all = append(all, ascii)
	}
	return all
}

func inASCII(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// allEscaped is a text with every byte percent-encoded that is no letter and no digit, as some encoders do.
func allEscaped(text string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c == '-' || c == '.' || c == '~' || inWord(c) && c < utf8.RuneSelf {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + string(digits[c>>4]) + string(digits[c&15]))
		}
	}
	return out.String()
}

// lowerEscapes has the digits of percent escapes in lower case.
func lowerEscapes(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(string(out[i+1:i+3])))
		}
	}
	return string(out)
}

// encoded are the characters of base64 that a secret alone decides, for each place in a group of three bytes at which it may begin.
func encoded(secret string) (all []string) {
	for lead := range 3 {
		raw := append(make([]byte, lead), secret...)
		from, to := (lead*8+5)/6, len(raw)*8/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if text := alphabet.EncodeToString(raw); to-from >= minEncoded {
				all = append(all, text[from:to])
			}
		}
	}
	return all
}

// minEncoded is how many characters of base64 tell a secret from anything else.
const minEncoded = 8
