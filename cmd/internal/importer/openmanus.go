package importer

import (
	"cmp"
	"strconv"
)

// allTools returns our counterparts of OpenManus's tools. Those that a machine cannot offer are left out there, with a word.
func allTools() []string {
	return []string{"ask_person", "browser", "edit", "fetch", "find", "list_files", "read_file", "run", "search_web", "terminate", "write_file"}
}

// dataTools returns the counterparts of the tools of its agent for data.
func dataTools() []string {
	return []string{"ask_person", "edit", "find", "list_files", "pdf", "plot", "read_file", "run", "sql", "terminate", "write_file"}
}

// manusPrompt replaces OpenManus's own prompt, which is not part of its configuration.
const manusPrompt = `You solve the task by yourself, step by step, with the tools that you have. Look at what a step gave before you take the next. When the
work is done, or cannot be done, end it with terminate and say which of the two it is.`

// analysisPrompt is the prompt of OpenManus's second agent.
const analysisPrompt = `You analyse data. Look at the files first, say how you calculate, and write results and tables into files. End with what the data shows, and
how sure that is.`

// openManus reads config.toml.
func openManus(root *node, t *target) {
	main := t.expert(&card{
		Name: "Manus", Description: "Solves any task with programs, files, the web and questions to people", Kind: "llm", Tools: allTools(), Tags: []string{"default"}, body: manusPrompt,
	})
	llm := root.get("llm")
	if llm.table() {
		manusModel(llm, llm, "default", t, main)
		for _, name := range llm.names {
			if sub := llm.fields[name]; sub.table() {
				manusModel(sub, llm, name, t, nil)
			}
		}
	}
	root.get("browser").leave("the tool browser runs headless in the sandbox, and has no such setting")
	root.get("search").leave("the tool search_web has no such setting")
	root.get("search").get("engine").mapped(main.file+" tools", "search_web asks SearXNG, Brave, Tavily or Exa: set JOBGRAPH_SEARCH_URL, BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY")
	root.get("sandbox").leave("programs run in the sandbox of the runner, with the limits under run on the card; containers are not started")
	root.get("daytona").leave("sandboxes of that service are not used")
	root.get("mcp").leave("it names a module of Python; servers of tools go under mcpServers")
	flow := root.get("runflow").get("use_data_analysis_agent")
	if yes, ok := flag(flow); ok && yes {
		c := t.expert(&card{Name: "Data Analysis", Description: "Analyses data in files", Kind: "llm", Tools: dataTools(), Tags: []string{"data_analysis"}, body: analysisPrompt})
		flow.mapped(c.file, "the expert has the tools of this system: run, sql, plot, pdf and those for files")
	} else if flow != nil {
		flow.mapped("experts/", "there is no card for that agent")
	}
}

// manusModel reads one model; missing fields come from the first. The budget goes to the expert.
func manusModel(n, first *node, name string, t *target, c *card) {
	m := t.model(name)
	if m == nil {
		n.leave("there is another model of that name already")
		return
	}
	pick := func(key string) *node { return cmp.Or(n.get(key), first.get(key)) }
	to := func(key string) string { // Models inherit from the first what they do not set themselves.
		if n != first && n.get(key) != nil {
			return "models." + name + "."
		}
		return "models.*."
	}
	if v := pick("model"); v != nil {
		m.Model = literal(v.value())
		v.carried(to("model") + "model")
	}
	if v := pick("base_url"); v != nil {
		clean, same := bare(v.value())
		m.BaseURL = literal(clean)
		if same {
			v.carried(to("base_url") + "base_url")
		} else {
			v.mapped(to("base_url")+"base_url", "user, password and query were cut off: use key and headers")
		}
	}
	if own := n.get("api_key"); own != nil && n != first {
		m.Key = key(own, variable(name, "api_key"), to("api_key")+"key")
	} else if v := first.get("api_key"); v != nil {
		m.Key = key(v, "OPENAI_API_KEY", "models.*.key")
	}
	if v := pick("temperature"); v != nil {
		temperature(v, m, to("temperature"))
	}
	if v := pick("max_tokens"); v != nil {
		whole(v, &m.MaxTokens, to("max_tokens")+"max_tokens")
	}
	if v := n.get("max_input_tokens"); v != nil {
		if c == nil {
			v.left("budgets stand on the cards of experts: max_tokens")
		} else if whole(v, &c.MaxTokens, c.file+" max_tokens"); c.MaxTokens > 0 {
			v.mapped(c.file+" max_tokens", "it counts the tokens of answers as well")
		}
	}
	manusProvider(n)
}

func temperature(v *node, m *model, to string) {
	f, err := strconv.ParseFloat(v.value(), 64)
	if err != nil || !(f >= 0 && f <= 2) {
		v.left("it is no number from 0 to 2")
		return
	}
	m.Temperature = &f
	v.carried(to + "temperature")
}

// manusProvider reports what happens to provider-specific settings.
func manusProvider(n *node) {
	switch kind := n.get("api_type"); kind.value() {
	case "":
		kind.left("it is empty")
	case "openai", "ollama":
		kind.mapped("models.*.base_url", "every provider is spoken to as OpenAI's API")
	default:
		kind.left("only providers that speak OpenAI's API are reached: give the address of a gateway that does as base_url")
	}
	version := n.get("api_version")
	if version.value() == "" {
		version.left("it is empty")
		return
	}
	version.left("versions of an API are part of its address")
}

// leave marks every value of a table as left out, so that each is reported.
func (n *node) leave(why string) {
	if n == nil {
		return
	}
	if n.fields == nil && n.items == nil {
		n.left(why)
		return
	}
	for _, name := range n.names {
		n.fields[name].leave(why)
	}
	for _, item := range n.items {
		item.leave(why)
	}
}
