// Package plainjson reads and writes JSON of a known form without reflection: what the services say to each other a
// thousand times a second. A Writer writes the bytes that encoding/json would. A Scanner reads. It takes only the plain form, and says no to everything else, be it wrong or merely unusual; then the
// caller reads the same bytes with encoding/json, which decides. So it can be fast without having to be complete.
//
// A Scanner belongs to its caller and keeps no state beyond one text.
package plainjson
