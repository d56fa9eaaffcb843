// Package browser tests the console in a real Chromium, against real programs on a store of the test. The tests need the build tag
// "browser" and Debian's chromium; `make browser` runs them, `make pictures` draws what docs/console.md shows. The package exports
// nothing.
package browser
