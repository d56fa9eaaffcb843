package sandbox

// order is the instruction to the helper, as JSON on its descriptor 3. It writes its answer on descriptor 4.
type order struct {
	// Init makes the helper stay as the init process of its namespace, and start the program below it.
	Init bool `json:"init,omitempty"`
	// Reap makes the helper stay outside the sandbox as the parent of a second one, which becomes the program; whatever the
	// program leaves behind ends with it.
	Reap bool `json:"reap,omitempty"`
	// Probe makes it exit instead of executing the program.
	Probe bool `json:"probe,omitempty"`
	// Landlock restricts files; Network does not restrict TCP.
	Landlock bool `json:"landlock,omitempty"`
	// Newest is the newest version of Landlock to use; 0 means that of the kernel.
	Newest  int  `json:"newest,omitempty"`
	Network bool `json:"network,omitempty"`
	// Unix does not restrict sockets of the file system.
	Unix bool `json:"unix,omitempty"`
	// Untrusted is as in Policy.
	Untrusted bool `json:"untrusted,omitempty"`
	// Spaces says that the program has separate namespaces for processes, IPC and, without Network, the network.
	Spaces bool `json:"spaces,omitempty"`
	// Read and Write are as in Policy, including the system's own paths.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Passed is how many further descriptors, from passedFD on, the program gets as its 3, 4 and so on.
	Passed int `json:"passed,omitempty"`
	// Limits have their defaults.
	Limits Limits `json:"limits"`
	// Gate makes forks ask first; the second helper passes the descriptor on which they ask over the socket gateFD.
	Gate bool `json:"gate,omitempty"`
	// Version is that of Landlock in force.
	Version int `json:"-"`
	// Fixed, Proc and Counted are what the helper achieved: all mounts are read-only, /proc shows only the program's processes, and
	// the kernel bounds their number.
	Fixed   bool `json:"-"`
	Proc    bool `json:"-"`
	Counted bool `json:"-"`
}

// said is the helper's answer: its own fault, or how the program below it ended.
type said struct {
	Fault  string `json:"fault,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
	// Version is that of Landlock, if it was only a probe.
	Version int `json:"version,omitempty"`
}

// The descriptors of the helper, and its exit code for a fault of its own.
const (
	orderFD   = 3
	saidFD    = 4
	passedFD  = 5
	gateFD    = 5 // Programs below a second helper get no further descriptors.
	faultCode = 125
)

// argument is the hidden argument that makes a program the helper.
const argument = "--enter-sandbox"
