package console

import _ "embed"

// Policy is the Content-Security-Policy of the page: everything comes from the gateway itself, and no script or style is inline.
const Policy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed index.html
var page []byte

//go:embed icon.svg
var icon []byte

//go:embed dist/app.js
var script []byte

//go:embed dist/app.css
var style []byte

// File is a file of the console with its media type.
type File struct {
	Media string
	Body  []byte
}

// Page returns the document that the browser opens.
func Page() File { return File{"text/html; charset=utf-8", page} }

// Asset returns a file that the page loads; ok is false if there is none of this name.
func Asset(name string) (f File, ok bool) {
	switch name {
	case "app.js":
		return File{"text/javascript; charset=utf-8", script}, true
	case "app.css":
		return File{"text/css; charset=utf-8", style}, true
	case "icon.svg":
		return File{"image/svg+xml", icon}, true
	}
	return f, false
}
