package sandbox

// order is what the helper is told, as JSON on its descriptor 3. What it has to say it writes on descriptor 4.
type order struct {
	// Init has the helper stay as the first process of its space, and start the program below it.
	Init bool `json:"init,omitempty"`
	// Probe has it end where it would become the program.
	Probe bool `json:"probe,omitempty"`
	// Landlock restricts files; Network does not restrict TCP.
	Landlock bool `json:"landlock,omitempty"`
	Network  bool `json:"network,omitempty"`
	// Read and Write are as in Policy, the system's own included.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Limits have their defaults.
	Limits Limits `json:"limits"`
}

// said is what the helper writes: a fault of its own, or how the program below it has ended.
type said struct {
	Fault  string `json:"fault,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
}

// The descriptors of the helper, and its exit code for a fault of its own.
const (
	orderFD   = 3
	saidFD    = 4
	faultCode = 125
)

// argument is the hidden one by which a program becomes the helper.
const argument = "--enter-sandbox"
