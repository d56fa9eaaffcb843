// Package plainjson reads and writes JSON of a known form without reflection, for messages that services exchange thousands
// of times a second. A Writer writes the same bytes as encoding/json. A Scanner accepts only the plain form and rejects
// everything else, whether wrong or merely unusual; the caller then decodes the same bytes with encoding/json, whose result
// counts. So the Scanner is fast without being complete.
//
// A Scanner belongs to its caller and keeps no state beyond one text.
package plainjson
