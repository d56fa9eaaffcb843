// Command gateway serves the HTTP API to clients with a token: the verbs of package verb as routes, and events as streams. It holds
// no state: any number of gateways may run.
package main
