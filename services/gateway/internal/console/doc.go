// Package console is the page that people open in a browser: the TypeScript sources in web, and in dist the bundle that esbuild
// makes of them, which is embedded in programs. docs/console-code.md is the map of the sources. The page uses only the gateway's
// API and loads nothing from other hosts.
//
// The package serves nothing itself and knows no token: package route does.
package console

//go:generate go tool esbuild web/app.ts --bundle --minify --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning --outfile=dist/app.js
