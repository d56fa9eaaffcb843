package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

const secret = `s3cr/et "<ü>&\ w0rd+of=long`

// pieces feeds a text in two pieces, cut at a place.
func pieces(s *redact.Stream, text string, at int) string {
	return s.Feed(text[:at]) + s.Feed(text[at:]) + s.Flush()
}

func bytewise(s *redact.Stream, text string) string {
	var out strings.Builder
	for i := range len(text) {
		out.WriteString(s.Feed(text[i : i+1]))
	}
	return out.String() + s.Flush()
}

func TestASecretIsFoundInEveryFormAndAtEveryCut(t *testing.T) {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted[1 : len(quoted)-1]))
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	for name, form := range map[string]string{
		"plain": secret, "json": string(quoted[1 : len(quoted)-1]), "json in json": string(twice[1 : len(twice)-1]),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "lower": strings.ToLower(url.QueryEscape(strings.ToLower(secret))),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "basic": basic,
		"base64 shifted":  base64.RawURLEncoding.EncodeToString([]byte("xy" + secret + "z")),
		"base64 shifted2": base64.StdEncoding.EncodeToString([]byte("x" + secret + "yz")),
	} {
		r := redact.New(secret)
		if name == "lower" {
			r = redact.New(strings.ToLower(secret))
		}
		text := "before " + form + " behind"
		clean := r.Text(text)
		mask := redact.Mask
		if strings.HasPrefix(name, "bas") {
			mask = "redacted"
		}
		if clean == text || !strings.Contains(clean, mask) || !strings.HasPrefix(clean, "before ") || !strings.HasSuffix(clean, " behind") {
			t.Errorf("%s: %q became %q", name, text, clean)
		}
		if middle := form[4 : len(form)-4]; strings.Contains(clean, middle) {
			t.Errorf("%s: the secret is left in %q", name, clean)
		}
		for at := range len(text) + 1 {
			if got := pieces(r.Stream(false), text, at); got != clean {
				t.Errorf("%s: cut at %d it became %q, want %q", name, at, got, clean)
			}
		}
		if got := bytewise(r.Stream(false), text); got != clean {
			t.Errorf("%s: byte by byte it became %q, want %q", name, got, clean)
		}
		read, err := io.ReadAll(r.Reader(iotest.OneByteReader(strings.NewReader(text))))
		if err != nil || string(read) != clean {
			t.Errorf("%s: read, it became %q (%v), want %q", name, read, err, clean)
		}
	}
}

func TestTheLongestSecretWins(t *testing.T) {
	r := redact.New("abcdefgh", "abcdefgh-and-more", "more-to-come")
	for text, want := range map[string]string{
		"x abcdefgh y":                          "x " + redact.Mask + " y",
		"x abcdefgh-and-more y":                 "x " + redact.Mask + " y",
		"x abcdefgh-and-mor y":                  "x " + redact.Mask + "-and-mor y",
		"x abcdefgh-and-more-to-come y":         "x " + redact.Mask + "-to-come y",
		"abcdefghabcdefgh-and-moremore-to-come": redact.Mask + redact.Mask + redact.Mask,
		"abcdefg":                               "abcdefg",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		for at := range len(text) + 1 {
			if got := pieces(r.Stream(false), text, at); got != want {
				t.Errorf("%q cut at %d became %q, want %q", text, at, got, want)
			}
		}
	}
}

func TestCommonValuesAreNoSecrets(t *testing.T) {
	for _, value := range []string{"", "short", "1234567", "12345678", "2026-11-23", "not-needed", "ollama", "localhost", "http://127.0.0.1:8080/v1", "Production"} {
		if !redact.NewSet(value).Redactor().Empty() {
			t.Errorf("%q counts as a secret", value)
		}
	}
	for _, value := range []string{"hunter2!", "sk-abcde", "1234567812345678", "correct horse battery staple", "https://user:pw@host.test/x", "https://host.test/hooks/T0123456789ABCDEF"} {
		if redact.NewSet(value).Redactor().Empty() {
			t.Errorf("%q does not count as a secret", value)
		}
	}
}

func TestASetFindsTheLinesOfAKey(t *testing.T) {
	s := redact.NewSet("-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIPq1\nq83vEjRWeJCrze8SNFZ4kKvN\n-----END KEY-----\n")
	if got := s.Redactor().Text("a q83vEjRWeJCrze8SNFZ4kKvN b -----BEGIN KEY----- c"); got != "a "+redact.Mask+" b -----BEGIN KEY----- c" {
		t.Errorf("it became %q", got)
	}
	before := s.Redactor()
	s.Add("another-s3cret-value")
	if s.Redactor() == before || s.Redactor().Text("another-s3cret-value") != redact.Mask {
		t.Error("a secret that came later is not found")
	}
	after := s.Redactor()
	if s.Add("another-s3cret-value"); s.Redactor() != after {
		t.Error("a secret that is known was taken for a new one")
	}
}

func TestNothingIsCopiedWhenNothingIsFound(t *testing.T) {
	r := redact.New("a-secret-of-some-length", "another-secret")
	text, raw := strings.Repeat("nothing to be seen here, ", 100), []byte(`{"a":["b",1,true,"nothing to see"]}`)
	if n := testing.AllocsPerRun(10, func() { _ = r.Text(text); _ = r.JSON(raw); _ = r.Holds(raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var none *redact.Redactor
	if n := testing.AllocsPerRun(10, func() { _ = none.Text(text); _ = none.JSON(raw) }); n != 0 {
		t.Errorf("%v allocations without secrets", n)
	}
	from := strings.NewReader(text)
	if none.Reader(from) != io.Reader(from) {
		t.Error("a reader was wrapped for nothing")
	}
}

func TestMostOfASecretAtTheEndCountsAsOne(t *testing.T) {
	r := redact.New("0123456789abcdefghijklmnop")
	if got := bytewise(r.Stream(false), "and so on 0123456789abcdefgh"); got != "and so on "+redact.Mask {
		t.Errorf("a stream that ends within a secret became %q", got)
	}
	if got := bytewise(r.Stream(false), "and so on 01234567"); got != "and so on 01234567" {
		t.Errorf("a stream that ends with what a secret begins with became %q", got)
	}
}

// What was encoded as a whole can be decoded, and nothing but the secret has changed in it.
func TestBase64StaysBase64(t *testing.T) {
	r := redact.New("a-secret-in-the-middle")
	for lead := range 7 {
		before, behind := strings.Repeat("b", lead), strings.Repeat("e", 12)
		raw, _ := json.Marshal(map[string][]byte{"data": []byte(before + "a-secret-in-the-middle" + behind)})
		var got struct{ Data []byte }
		musttest.Decode(t, r.JSON(raw), &got)
		text := string(got.Data)
		if len(text) != lead+22+12 || strings.Contains(text, "ecret-in-the-midd") || !strings.HasPrefix(text, before) || !strings.HasSuffix(text, behind) {
			t.Errorf("behind %d: %q", lead, text)
		}
	}
}

func TestJSONStaysJSON(t *testing.T) {
	r := redact.New(secret, "1234567812345678", "plain-s3cret")
	for text, want := range map[string]string{
		`{"a":"plain-s3cret","n":1234567812345678,"b":[1,true,null]}`: `{"a":"********","n":"********","b":[1,true,null]}`,
		`{"plain-s3cret":1}`:                       `{"********":1}`,
		`"\u0070lain-s3cret"`:                      `"********"`,
		`"x plain\u002ds3cret <y>"`:                `"x ******** <y>"`,
		`"nothing \u00fc"`:                         `"nothing \u00fc"`,
		`not json plain-s3cret`:                    `not json ********`,
		` { "k" : "a plain-s3cret b" , "l":"\"" }`: ` { "k" : "a ******** b" , "l":"\"" }`,
	} {
		if got := string(r.JSON([]byte(text))); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	raw, _ := json.Marshal(map[string]any{"deep": []string{secret, "x" + secret}})
	clean := r.JSON(raw)
	if !json.Valid(clean) || string(clean) != `{"deep":["********","x********"]}` {
		t.Errorf("it became %s", clean)
	}
}

func TestAFileIsCopiedWithoutSecrets(t *testing.T) {
	r := redact.New("a-secret-of-some-length", "a-secret")
	for _, before := range []int{0, 1, 100, 64<<10 - 30, 64<<10 - 5, 64 << 10, 64<<10 + 20, 128<<10 - 4} {
		text := strings.Repeat("x", before) + "a-secret-of-some-length" + strings.Repeat("y", 70<<10) + "a-secret"
		var plain, sized bytes.Buffer
		found, err := r.Copy(&plain, iotest.HalfReader(strings.NewReader(text)), false)
		if want := strings.Repeat("x", before) + redact.Mask + strings.Repeat("y", 70<<10) + redact.Mask; !found || err != nil || plain.String() != want {
			t.Errorf("behind %d bytes: %v %v, %d bytes, want %d", before, found, err, plain.Len(), len(want))
		}
		if _, err := r.Copy(&sized, strings.NewReader(text), true); err != nil || sized.Len() != len(text) || strings.Contains(sized.String(), "secret") {
			t.Errorf("behind %d bytes: %v, %d bytes, want %d", before, err, sized.Len(), len(text))
		}
	}
	if found, err := r.Copy(io.Discard, strings.NewReader("nothing"), false); found || err != nil {
		t.Errorf("nothing: %v %v", found, err)
	}
	if _, err := r.Copy(io.Discard, iotest.ErrReader(errors.ErrUnsupported), false); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestAReaderGivesItsErrorBehindWhatItHas(t *testing.T) {
	from := io.MultiReader(strings.NewReader("x a-sec"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(redact.New("a-secret").Reader(from))
	if string(got) != "x a-sec" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q %v", got, err)
	}
}

func TestALogShowsNoSecret(t *testing.T) {
	for name, next := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var out strings.Builder
		set := redact.NewSet(secret)
		log := slog.New(redact.Handler(next(&out), set)).With("with", secret).WithGroup("g")
		log.Info("message "+secret, "text", secret, "error", fmt.Errorf("it says %s", secret), "group", slog.GroupValue(slog.String("in", secret)),
			"value", struct{ A string }{secret}, "number", 7)
		if strings.Contains(out.String(), "w0rd") || strings.Count(out.String(), redact.Mask) < 6 || !strings.Contains(out.String(), "7") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

func FuzzStreamAndCopyAgreeWithText(f *testing.F) {
	f.Add("aab", "aabab", "ba", "abaabababaabab", []byte{1, 2, 1})
	f.Add("abc", "ab", "abcabd", "abcabcabd", []byte{0, 5})
	f.Add("a", "aa", "aaa", "aaaaaaaa", []byte{3})
	f.Fuzz(func(t *testing.T, a, b, c, text string, cuts []byte) {
		secrets := []string{short(a), short(b), short(c)}
		text = letters(text)
		want := naive(text, secrets)
		r := redact.New(secrets...)
		if got := r.Text(text); got != want {
			t.Fatalf("%q without %q is %q, want %q", text, secrets, got, want)
		}
		s, rest, out := r.Stream(false), text, ""
		for _, cut := range cuts {
			n := min(int(cut), len(rest))
			out += s.Feed(rest[:n])
			rest = rest[n:]
		}
		if out += s.Feed(rest) + s.Flush(); out != want {
			t.Fatalf("%q without %q in pieces is %q, want %q", text, secrets, out, want)
		}
		var copied strings.Builder
		if found, err := r.Copy(&copied, strings.NewReader(text), false); err != nil || copied.String() != want || found != (want != text) {
			t.Fatalf("%q without %q, copied, is %q (%v), want %q", text, secrets, copied.String(), err, want)
		}
	})
}

// short makes a secret of which no part is large enough to count as one.
func short(text string) string { return letters(text[:min(len(text), 15)]) }

// letters maps a text to a few letters, so that secrets overlap and none of their other forms occurs.
func letters(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		out.WriteByte("xyz"[c%3])
	}
	return out.String()
}

// naive removes the longest secret that begins at each place, from left to right.
func naive(text string, secrets []string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		longest := 0
		for _, s := range secrets {
			if strings.HasPrefix(text[i:], s) {
				longest = max(longest, len(s))
			}
		}
		if longest > 0 {
			out.WriteString(redact.Mask)
			i += longest
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}
