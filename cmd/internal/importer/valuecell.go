package importer

import "strings"

// valueCell reads an agent card.
func valueCell(root *node, t *target) error {
	c := &card{Name: literal(root.get("name").value()), Kind: "a2a", Description: literal(root.get("description").value())}
	if display := root.get("display_name"); c.Name == "" {
		c.Name = literal(display.value())
		display.carried("name")
	} else {
		display.left("plans and people use one name")
	}
	if c.Name == "" || root.get("url").value() == "" {
		return fault(root, "an agent card needs name and url", "add both, or leave the file out")
	}
	t.expert(c)
	root.get("name").carried(c.file + " name")
	if root.get("description") != nil {
		root.get("description").carried(c.file + " description")
	}
	clean, same := bare(root.get("url").value())
	c.Agent = &agent{Agent: literal(clean)}
	root.get("url").mapped(c.file+" a2a.agent", "the agent has to run there: agents are not started")
	if !same {
		root.get("url").mapped(c.file+" a2a.agent", "user, password and query were cut off, since they may be secrets: use a2a.headers")
	}
	if n := root.get("enabled"); n != nil {
		yes, ok := flag(n)
		c.Disabled = ok && !yes
		n.mapped(c.file+" disabled", "")
	}
	meta := root.get("metadata")
	for _, f := range []struct {
		from string
		into *bool
		to   string
	}{{"hidden", &c.Hidden, "hidden"}, {"planner_passthrough", &c.Passthrough, "passthrough"}} {
		for _, n := range []*node{meta.get(f.from), root.get(f.from)} {
			if n != nil {
				yes, _ := flag(n)
				*f.into = *f.into || yes
				n.carried(c.file + " " + f.to)
			}
		}
	}
	meta.get("local_agent_class").left("classes of Python are not loaded: start the agent, and let url say where")
	root.get("capabilities").leave("the agent's own card says what it can do when it is met")
	skills(root.get("skills"), c)
	for _, name := range []string{"protocolVersion", "version", "defaultInputModes", "defaultOutputModes", "default_input_modes", "default_output_modes", "preferredTransport"} {
		root.get(name).leave("the agent's own card says it when it is met")
	}
	c.body = "An agent that is reached over A2A."
	return nil
}

// skills imports skills, each with its tags and examples.
func skills(n *node, c *card) {
	if n == nil {
		return
	}
	for _, s := range n.items {
		if !s.table() {
			s.left("a skill has id, name, description, examples and tags")
			continue
		}
		id := s.get("id").value()
		if id == "" {
			id = s.get("name").value()
		}
		if id != "" {
			c.Skills = append(c.Skills, literal(id))
		}
		s.get("id").carried(c.file + " skills")
		s.get("name").mapped(c.file+" description", "skills are words here")
		s.get("description").mapped(c.file+" description", "skills are words here")
		if about := strings.Trim(s.get("name").value()+": "+s.get("description").value(), ": "); about != "" {
			c.Description = strings.TrimLeft(strings.TrimRight(c.Description, ". ")+". "+literal(strings.TrimRight(about, "."))+".", ". ")
		}
		c.Examples = append(c.Examples, literals(s.get("examples").list())...)
		s.get("examples").carried(c.file + " examples")
		c.Tags = append(c.Tags, literals(s.get("tags").list())...)
		s.get("tags").carried(c.file + " tags")
		for _, more := range []string{"inputModes", "outputModes", "input_modes", "output_modes"} {
			s.get(more).leave("the agent's own card says it when it is met")
		}
	}
}
