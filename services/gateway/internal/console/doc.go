// Package console is the page that people open in a browser: the sources in web, and in dist what esbuild makes of them, which programs
// contain. docs/console-code.md is the map of the sources. The page asks the gateway's API alone and nothing of any other host.
//
// The package serves nothing itself and knows no token: package route does.
package console

//go:generate go tool esbuild web/app.ts --bundle --minify --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning --outfile=dist/app.js
