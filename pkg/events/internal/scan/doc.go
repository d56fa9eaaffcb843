// Package scan reads JSON of a known form without reflection: what the services write to each other a thousand times a
// second. It takes only the plain form of it, and says no to everything else, be it wrong or merely unusual; then the
// caller reads the same bytes with encoding/json, which decides. So it can be fast without having to be complete.
//
// A Scanner belongs to its caller and keeps no state beyond one text.
package scan
