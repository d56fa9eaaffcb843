// Package search searches the web through a provider: a SearXNG server, Brave, Tavily or Exa.
//
// It opens no page and judges no result. A Client may be used by any number of goroutines.
package search
