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

// forms returns all texts in which a secret may appear.
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

// escaped returns the forms of a secret in JSON, and in JSON inside a JSON string.
func escaped(secret string) []string {
	once := jsonForms(secret)
	all := slices.Clone(once)
	for _, form := range once {
		all = append(all, jsonForms(form)...)
	}
	return all
}

// jsonForms returns the encodings of a text: with and without HTML escapes, with escaped slashes, and in ASCII only.
func jsonForms(text string) []string {
	if !utf8.ValidString(text) {
		return nil // It cannot occur in JSON as it is.
	}
	html, _ := json.Marshal(text) // A string can always be encoded.
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

// allEscaped percent-encodes every byte except letters and digits, as some encoders do.
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

// lowerEscapes converts the digits of percent escapes to lower case.
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

// encoded returns the base64 characters that depend on the secret alone, for each of the three alignments.
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

// minEncoded is the minimum number of base64 characters that identify a secret.
const minEncoded = 8
