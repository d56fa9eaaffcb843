package mistake

import "strings"

// kinds lists all kinds of mistakes.
func kinds() []kind {
	var list []kind
	for _, part := range [][]kind{quoteKinds(), doubledKinds(), innerKinds(), commaKinds(), bracketKinds(), commentKinds(), formKinds(), wholeKinds()} {
		list = append(list, part...)
	}
	return list
}

func quoteKinds() []kind {
	ends := func(mark byte) func(d *draft, i int, t token) bool {
		return func(d *draft, i int, t token) bool { return t.text && t.role == member && d.next(i) == mark }
	}
	return []kind{
		on("key without its opening quote", isKey, open),
		on("key without its closing quote", isKey, closed),
		on("key without quotes", isKey, content),
		on("value without its opening quote", isText, open),
		where("value without its closing quote before a comma", ends(','), closed),
		where("value without its closing quote before a brace", ends('}'), closed),
		where("value without its closing quote before a line break", func(d *draft, i int, t token) bool { return t.text && t.role == member && d.broken(i) }, closed),
		where("value without quotes", func(d *draft, _ int, t token) bool {
			return t.text && t.role == member && plainWords(d.src[t.at:t.end])
		}, content),
		on("element without its opening quote", isItem, open),
		on("element without its closing quote", isItem, closed),
		{"value without its closing quote and comma", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.text && t.role == member && d.next(i) == ',' {
					found = append(found, d.without(t.end-1, d.list[i+1].end))
				}
			}
			return found
		}},
		on("curly closing quote", isText, func(text string) string { return closed(text) + "”" }),
		on("curly quotes", isText, func(text string) string { return "“" + content(text) + "”" }),
		where("single quotes", func(d *draft, _ int, t token) bool { return t.text && !strings.Contains(d.src[t.at:t.end], "'") }, func(text string) string { return "'" + content(text) + "'" }),
	}
}

func doubledKinds() []kind {
	return []kind{
		on("value with doubled opening quote", isText, before(`"`)),
		on("value with doubled closing quote", isText, after(`"`)),
		on("value with doubled quotes", isText, doubled),
		on("key with doubled quotes", isKey, doubled),
		on("key with doubled closing quote", isKey, after(`"`)),
		on("element with doubled quotes", isItem, doubled),
		on("quote behind a number or literal", isScalar, after(`"`)),
	}
}

func innerKinds() []kind {
	return []kind{
		meant("quoted words without backslashes", isText, quoted("")),
		meant("quoted words without backslashes before a comma", isText, quoted(",")),
		meant("quoted words without backslashes in an element", isItem, quoted("")),
		meant("JSON in a text without backslashes", isText, func(text string) (string, string, bool) {
			first, second, ok := halves(text)
			return `"` + first + `{"ok": true}` + second + `"`, `"` + first + `{\"ok\": true}` + second + `"`, ok
		}),
		containers("object quoted as it stands", '{', func(text string) string { return `"` + text + `"` }),
		containers("list quoted as it stands", '[', func(text string) string { return `"` + text + `"` }),
		containers("object as the content of a string", '{', func(text string) string { return `"` + escaped(text) + `"` }),
		meant("line break in a text", isText, func(text string) (string, string, bool) {
			first, second, ok := halves(text)
			return `"` + first + "\n" + second + `"`, `"` + first + `\n` + second + `"`, ok
		}),
		meant("tab in a text", isText, func(text string) (string, string, bool) {
			first, second, ok := halves(text)
			return `"` + first + "\t" + second + `"`, `"` + first + `\t` + second + `"`, ok
		}),
		meant("unknown escape", isText, func(text string) (string, string, bool) {
			first, second, ok := halves(text)
			return `"` + first + `\d` + second + `"`, `"` + first + `\\d` + second + `"`, ok
		}),
	}
}

func commaKinds() []kind {
	number := func(d *draft, i int) bool {
		return i+1 < len(d.list) && isScalar(0, d.list[i+1]) || i > 0 && isScalar(0, d.list[i-1])
	}
	return []kind{
		drop("no comma between members", ',', func(d *draft, i int) bool { return d.list[i].outer == '{' }),
		drop("no comma between elements", ',', func(d *draft, i int) bool { return d.list[i].outer == '[' && d.prev(i) != '}' }),
		drop("no comma between objects", ',', func(d *draft, i int) bool { return d.prev(i) == '}' && d.next(i) == '{' }),
		{"no comma between text and number", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.mark == ',' && number(d, i) {
					found = append(found, made{text: d.src[:t.at] + " " + d.src[t.end:]})
				}
			}
			return found
		}},
		where("two commas", func(_ *draft, _ int, t token) bool { return t.mark == ',' }, after(",")),
		where("comma before a brace", func(_ *draft, _ int, t token) bool { return t.mark == '}' }, before(",")),
		where("comma before a bracket", func(d *draft, i int, t token) bool { return t.mark == ']' && d.prev(i) != '[' }, before(",")),
		where("comma behind a brace", func(_ *draft, _ int, t token) bool { return t.mark == '{' && t.depth > 0 }, after(",")),
		where("no colon", func(_ *draft, _ int, t token) bool { return t.mark == ':' }, func(string) string { return " " }),
		where("equals sign for a colon", func(_ *draft, _ int, t token) bool { return t.mark == ':' }, func(string) string { return "=" }),
		where("wide comma", func(_ *draft, _ int, t token) bool { return t.mark == ',' }, func(string) string { return "，" }),
		where("wide colon", func(_ *draft, _ int, t token) bool { return t.mark == ':' }, func(string) string { return "：" }),
	}
}

func bracketKinds() []kind {
	return []kind{
		drop("no closing brace between elements", '}', func(d *draft, i int) bool {
			return d.next(i) == ',' && d.list[i].outer == '{' && d.list[min(i+2, len(d.list)-1)].mark == '{'
		}),
		{"no closing brace and comma between elements", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.mark == '}' && d.next(i) == ',' && d.list[i+2].mark == '{' {
					found = append(found, d.without(t.at, d.list[i+1].end))
				}
			}
			return found
		}},
		drop("no closing brace inside", '}', func(d *draft, i int) bool {
			return d.list[i].depth > 1 && d.next(i) != ',' || d.list[i].depth > 1 && d.list[min(i+2, len(d.list)-1)].mark != '{'
		}),
		drop("no opening brace", '{', func(d *draft, i int) bool { return d.list[i].depth > 0 }),
		drop("no closing bracket", ']', func(d *draft, i int) bool { return d.prev(i) != '[' }),
		drop("no opening bracket", '[', func(d *draft, i int) bool { return d.next(i) != ']' }),
		where("closing brace twice", func(_ *draft, _ int, t token) bool { return t.mark == '}' && t.depth > 1 }, after("}")),
		where("closing bracket twice", func(_ *draft, _ int, t token) bool { return t.mark == ']' }, after("]")),
		where("brace for a bracket", func(_ *draft, _ int, t token) bool { return t.mark == ']' }, func(string) string { return "}" }),
		where("opening brace twice", func(_ *draft, _ int, t token) bool { return t.mark == '{' }, after("{")),
	}
}

func commentKinds() []kind {
	return []kind{
		where("comment glued to a value", func(d *draft, i int, t token) bool { return t.mark == 0 && t.role == member && d.broken(i) }, after("// why")),
		where("comment glued to a number or literal", func(d *draft, i int, t token) bool { return isScalar(i, t) }, after("/* checked */")),
		where("comment behind a comma", func(d *draft, i int, t token) bool { return t.mark == ',' && d.broken(i) }, after(` // see "notes", page 2`)),
		where("comment without its line break", func(d *draft, i int, t token) bool { return t.mark == ',' && t.outer == '{' && !d.broken(i) }, after(" // as agreed ")),
		where("comment without its end", func(d *draft, i int, t token) bool { return t.mark == ',' && d.broken(i) }, after(" /* as agreed")),
		where("hash comment", func(d *draft, i int, t token) bool { return t.mark == ',' && d.broken(i) }, after(" # 说明")),
		where("comment before a key", func(_ *draft, _ int, t token) bool { return t.role == key }, before("/* {1} */ ")),
	}
}

func formKinds() []kind {
	literals := map[string]string{"true": "True", "false": "False", "null": "None"}
	return []kind{
		where("literal of Python", func(d *draft, _ int, t token) bool { return literals[d.src[t.at:t.end]] != "" }, func(text string) string { return literals[text] }),
		where("boolean as text", func(d *draft, _ int, t token) bool {
			text := d.src[t.at:t.end]
			return text == "true" || text == "false"
		}, func(text string) string { return `"` + text + `"` }),
		where("plus before a number", func(d *draft, _ int, t token) bool {
			return t.mark == 0 && strings.IndexByte("123456789", d.src[t.at]) >= 0
		}, before("+")),
		{"member twice", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.role == key && d.list[i+2].mark == 0 {
					text := d.src[t.at:d.list[i+2].end]
					found = append(found, made{text: d.src[:t.at] + text + ", " + d.src[t.at:]})
				}
			}
			return found
		}},
		{"member of a wrong type before the right one", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.role == key && d.list[i+2].mark == 0 {
					text := d.src[t.at:d.list[i+2].at] + "[[]]"
					found = append(found, made{text: d.src[:d.list[i+2].end] + ", " + text + d.src[d.list[i+2].end:]})
				}
			}
			return found
		}},
		{"bare words without comma", func(d *draft) []made {
			var found []made
			for i, t := range d.list {
				if t.text && t.role == element && d.next(i) == ',' && d.list[i+2].text && plainWords(d.src[t.at:t.end]) && plainWords(d.src[d.list[i+2].at:d.list[i+2].end]) {
					u := d.list[i+2]
					found = append(found, made{text: d.src[:t.at] + content(d.src[t.at:t.end]) + " " + content(d.src[u.at:u.end]) + d.src[u.end:]})
				}
			}
			return found
		}},
		where("stray word behind a value", func(_ *draft, _ int, t token) bool { return t.mark == 0 && t.role == member }, after(" ok")),
		on("bold key", isKey, func(text string) string { return "**" + text + "**" }),
	}
}

func wholeKinds() []kind {
	return []kind{
		{"no closing brace at the end of a fence", func(d *draft) []made {
			return []made{{text: "```json\n" + strings.TrimRight(strings.TrimSuffix(d.src, "}"), "\n") + "\n```\n"}}
		}},
		{"no opening brace at the start", func(d *draft) []made { return []made{{text: strings.TrimPrefix(d.src, "{")}} }},
		{"the whole text in quotes", func(d *draft) []made { return []made{{text: `"` + escaped(d.src) + `"`}} }},
		{"cut", func(d *draft) []made {
			var found []made
			for _, t := range d.list[1 : len(d.list)-1] {
				found = append(found, made{text: d.src[:t.at+(t.end-t.at)/2]})
			}
			return found
		}},
	}
}
