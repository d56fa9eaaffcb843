// Command modproxy writes the modules of a release from the tags of a repository into a folder that the go command can use
// as a module proxy, GOPROXY=file://FOLDER: what `go get` and `go install` would find once the tags are published.
//
//	modproxy REPOSITORY VERSION FOLDER
//
// It keeps no state and uses no network.
package main
