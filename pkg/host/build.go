package host

import (
	"runtime"
	"runtime/debug"
)

// Build describes the program's binary.
type Build struct {
	// Name is the name of the program.
	Name string `json:"name"`
	// Version is the module's version, "(devel)" if built from a work tree.
	Version string `json:"version"`
	// Commit is the revision it was built from, empty when not known.
	Commit string `json:"commit,omitempty"`
	// Time is the time of the commit.
	Time string `json:"time,omitempty"`
	// Modified is true when the work tree had changes.
	Modified bool `json:"modified,omitempty"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
}

// ReadBuild reads the build information of this binary.
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
