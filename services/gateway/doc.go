// Command gateway serves the HTTP API: the verbs of package verb as routes, events as streams, for those who have a token. It holds
// no state: any number of gateways may run.
package main
