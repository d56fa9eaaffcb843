package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
)

// inexact is the exit code of a script whose program printed a number that many JSON readers would round. No script expects it.
const inexact = 99

// printsJSON reports whether a command line asks for JSON.
func printsJSON(args []string) bool {
	for i, arg := range args {
		if i > 0 && (args[i-1] == "-o" || args[i-1] == "--output") && (arg == "json" || arg == "jsonl") {
			return true
		}
	}
	return slices.Contains(args, "--output=json") || slices.Contains(args, "-ojson")
}

// beyond returns the path of an integer in a stream of JSON values that a double cannot hold exactly; "" if there is none. It stops
// at invalid JSON.
func beyond(text []byte) string {
	values := json.NewDecoder(bytes.NewReader(text))
	values.UseNumber()
	for {
		var value any
		if values.Decode(&value) != nil {
			return ""
		}
		if place := beyondIn(value, ""); place != "" {
			return place
		}
	}
}

func beyondIn(value any, place string) string {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if found := beyondIn(inner, place+"."+key); found != "" {
				return found
			}
		}
	case []any:
		for i, inner := range v {
			if found := beyondIn(inner, fmt.Sprintf("%s[%d]", place, i)); found != "" {
				return found
			}
		}
	case json.Number:
		if n, whole := new(big.Int).SetString(v.String(), 10); whole && n.CmpAbs(big.NewInt(1<<53)) > 0 {
			return fmt.Sprintf("%s: %s", place, v)
		}
	}
	return ""
}
