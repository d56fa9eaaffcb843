package importer

import (
	"regexp"
	"slices"
	"strings"
)

// reference parses a value that consists of a reference to a variable.
func reference(text string) (name string, ok bool) {
	m := regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`).FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// secretive reports whether a key contains a credential, by its name.
func secretive(key string) bool {
	key = strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(key))
	if slices.Contains([]string{"key", "pat", "auth", "authorization", "cookie"}, key) {
		return true
	}
	for _, word := range []string{"api_key", "apikey", "secret", "token", "password", "passwd", "credential", "_key", "_pat", "auth"} {
		if strings.Contains(key, word) {
			return !strings.Contains(key, "max_tokens") && !strings.Contains(key, "max_input_tokens")
		}
	}
	return false
}

// looksSecret recognises keys under harmless names: a long run of letters and digits, often with a prefix.
func looksSecret(text string) bool {
	return regexp.MustCompile(`^(sk|pk|ghp|gho|xox[abp]|AKIA|AIza|Bearer )[-_A-Za-z0-9. ]{12,}$`).MatchString(text) ||
		regexp.MustCompile(`^[A-Za-z0-9+/_=-]{32,}$`).MatchString(text) && strings.ContainsAny(text, "0123456789")
}

// key imports a secret as a reference.
func key(n *node, name, to string) string {
	text := n.value()
	if text == "" {
		if n != nil {
			n.left("it is empty")
		}
		return ""
	}
	if already, ok := reference(text); ok {
		name = already
	}
	n.secret(to, name)
	return "${" + name + "}"
}

// pairs imports a map of texts: an environment, headers. Secrets become references to variables of the same name, prefixed
// by the word for their place if there is one.
func pairs(n *node, where, to string) map[string]string {
	if !n.table() || len(n.names) == 0 {
		if n != nil {
			n.left("it is empty")
		}
		return nil
	}
	list := map[string]string{}
	for _, name := range n.names {
		field, goal, secret := n.fields[name], to+"."+name, variable(strings.TrimPrefix(where+"_"+name, "_"))
		text := field.value()
		already, isReference := reference(text)
		switch {
		case isReference:
			list[name] = "${" + already + "}"
			field.mapped(goal, "set the variable "+already)
		case text != "" && (secretive(name) || looksSecret(text)):
			list[name] = "${" + secret + "}"
			field.secret(goal, secret)
		default:
			list[name] = literal(text)
			field.carried(goal)
		}
	}
	return list
}

// bare returns an address without credentials; ok is false if it had some.
func bare(address string) (clean string, ok bool) {
	clean = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@]*@`).ReplaceAllString(address, "$1")
	clean, _, query := strings.Cut(clean, "?")
	return clean, clean == address && !query
}
