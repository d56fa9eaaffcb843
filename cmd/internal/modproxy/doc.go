// Command modproxy writes the modules of a release into a folder that the go command takes as a module proxy, GOPROXY=file://FOLDER, from
// the tags of a repository: what `go get` and `go install` would find once the tags are published.
//
//	modproxy REPOSITORY VERSION FOLDER
//
// It keeps no state and asks no network.
package main
