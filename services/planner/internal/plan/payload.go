package plan

import (
	"bytes"
	"encoding/json"
)

// The markers around raw text that replaces the value of a field.
const payloadStart, payloadEnd = "__PAYLOAD_START__", "__PAYLOAD_END__"

// payloads turns raw text between markers into a JSON string, with or without quotes around the markers. Markers in other places
// stay.
func payloads(text []byte) []byte {
	if !bytes.Contains(text, []byte(payloadStart)) {
		return text
	}
	var out []byte
	for {
		before, rest, found := bytes.Cut(text, []byte(payloadStart))
		raw, behind, closed := bytes.Cut(rest, []byte(payloadEnd))
		if !found || !closed {
			return append(out, text...)
		}
		bare := bytes.TrimRight(before, " \t\r\n")
		inQuotes := bytes.HasSuffix(before, []byte{'"'}) && bytes.HasPrefix(behind, []byte{'"'})
		if inQuotes {
			bare = bytes.TrimRight(before[:len(before)-1], " \t\r\n")
		}
		if !isValuePlace(bare) {
			out = append(append(out, before...), payloadStart...)
			text = rest
			continue
		}
		value, err := json.Marshal(string(raw))
		if err != nil {
			return append(out, text...) // Not reached: a string can always be encoded.
		}
		if inQuotes {
			before, behind = before[:len(before)-1], behind[1:]
		}
		out = append(append(out, before...), value...)
		text = behind
	}
}

// isValuePlace reports whether a value may follow a text: after a colon, a comma or an opening bracket.
func isValuePlace(before []byte) bool {
	return len(before) > 0 && bytes.IndexByte([]byte(":,["), before[len(before)-1]) >= 0
}
