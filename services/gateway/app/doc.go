// Package app is the entry point of the gateway: Run connects the parts and serves until the process drains. Programs that embed the
// gateway and the gateway's own main use the same Run.
package app
