// Package browser drives a headless Chromium over the DevTools protocol: it opens pages, reads their text, clicks, fills fields and
// takes pictures. Chromium reaches nothing by itself; a proxy in this process passes its connections on to the relay of the runner,
// which decides what may be reached.
//
// It keeps one page per process. A crash of the browser is reported as an error, and the next call starts another one.
package browser
