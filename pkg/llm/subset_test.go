package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSchemasAreReducedToWhatAProviderAccepts(t *testing.T) {
	for _, c := range []struct {
		name, schema, anthropic, gemini string
	}{
		{
			"the order of properties stays", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`,
		},
		{
			"unknown keywords become words", `{"$schema":"x","type":"string","description":"A name.","minLength":2,"pattern":"^a","examples":["a"]}`,
			`{"type":"string","description":"A name. (minLength: 2; pattern: \"^a\")"}`,
			`{"type":"string","description":"A name. (minLength: 2; pattern: \"^a\")"}`,
		},
		{"bounds", `{"type":"integer","minimum":1,"exclusiveMaximum":9}`, `{"type":"integer","description":"(minimum: 1; exclusiveMaximum: 9)"}`, `{"type":"integer","minimum":1,"description":"(exclusiveMaximum: 9)"}`},
		{"one of several", `{"oneOf":[{"const":"a"},{"const":1},{"const":true}]}`, `{"anyOf":[{"const":"a"},{"const":1},{"const":true}]}`, `{"anyOf":[{"enum":["a"]},{"enum":[1]},{"description":"(const: true)"}]}`},
		{"an enum with null", `{"enum":["a",null]}`, `{"enum":["a",null]}`, `{"description":"(enum: [\"a\",null])"}`},
		{"nullable", `{"type":["string","null"]}`, `{"type":["string","null"]}`, `{"type":["string","null"]}`},
		{
			"references", `{"definitions":{"x":{"type":"string","maxLength":3}},"properties":{"a":{"$ref":"#/definitions/x","description":"An x."}}}`,
			`{"definitions":{"x":{"type":"string","description":"(maxLength: 3)"}},"properties":{"a":{"$ref":"#/definitions/x","description":"An x."}}}`,
			`{"$defs":{"x":{"type":"string","description":"(maxLength: 3)"}},"properties":{"a":{"$ref":"#/$defs/x"}}}`,
		},
		{"all of", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"lists", `{"type":"array","items":{"type":"string","format":"date"},"minItems":3,"uniqueItems":true}`, `{"type":"array","items":{"type":"string","format":"date"},"description":"(minItems: 3; uniqueItems: true)"}`, `{"type":"array","items":{"type":"string","format":"date"},"minItems":3,"description":"(uniqueItems: true)"}`},
		{"a list of at least one", `{"minItems":1,"items":true}`, `{"minItems":1,"items":true}`, `{"minItems":1,"items":true}`},
		{"what is no schema", `7`, `7`, `7`},
		{"properties that are none", `{"properties":7,"anyOf":7}`, `{}`, `{}`},
	} {
		for s, want := range map[*subset]string{&anthropicSchema: c.anthropic, &geminiSchema: c.gemini} {
			if got := string(reduced(json.RawMessage(c.schema), *s)); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
			}
		}
	}
	deep := strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000)
	if got := reduced(json.RawMessage(deep), geminiSchema); string(got) != deep {
		t.Error("a deep schema is changed")
	}
}
