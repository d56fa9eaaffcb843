package importer

import (
	"regexp"
	"slices"
	"strings"
)

// reference is a value that names a variable already, as a whole.
func reference(text string) (name string, ok bool) {
	m := regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`).FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// secretive reports whether a key holds a credential, by its name.
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

// looksSecret recognises keys that stand under innocent names: a long run of letters and digits, often behind a prefix.
func looksSecret(text string) bool {
	return regexp.MustCompile(`^(sk|pk|ghp|gho|xox[abp]|AKIA|AIza|Bearer )[-_A-Za-z0-9. ]{12,}$`).MatchString(text) ||
		regexp.MustCompile(`^[A-Za-z0-9+/_=-]{32,}$`).MatchString(text) && strings.ContainsAny(text, "0123456789")
}

// key takes a secret over as a reference.
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

// pairs takes texts by name over: an environment, headers. Secrets become references to variables of the same name, behind the
// word for where they belong if there is one.
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

// bare is an address without credentials; ok is false when it had something.
func bare(address string) (clean string, ok bool) {
	clean = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@]*@`).ReplaceAllString(address, "$1")
	clean, _, query := strings.Cut(clean, "?")
	return clean, clean == address && !query
}
