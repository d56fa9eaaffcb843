package host

import (
	"runtime"
	"runtime/debug"
)

// Build says which program this is.
type Build struct {
	// Name is the program's.
	Name string `json:"name"`
	// Version is the module's version, "(devel)" for one built from a work tree.
	Version string `json:"version"`
	// Commit is the revision it was built from, empty when not known.
	Commit string `json:"commit,omitempty"`
	// Time is that of the commit.
	Time string `json:"time,omitempty"`
	// Modified is true when the work tree had changes.
	Modified bool `json:"modified,omitempty"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
}

// ReadBuild reads what the toolchain wrote into this binary.
func ReadBuild(name string) Build {
	b := Build{Name: name, Version: "(devel)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}
