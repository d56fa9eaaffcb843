package near

import "strings"

// Form returns the form in which plans find an expert by its id or name: in lower case, without brackets around it, and with one spelling of
// what separates its words, since models write [agent_1] for agent-1.
func Form(name string) string {
	name = strings.TrimSpace(strings.Trim(strings.TrimSpace(name), "[]"))
	return strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(name))
}
