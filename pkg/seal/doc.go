// Package seal signs messages with the nkeys of the bus, and says whose signature a message has.
//
// Two kinds of messages are sealed: requests, by whoever asks, and the facts by which a job obeys a person: answers, stops and
// what else stands on the control subject of a job. A seal covers the subject, and so the job, the request and the tenant; the id
// and the type of the message; its body; and the moment, which is close to the one at which the message is stored or arrives, so
// that a seal cannot be used again later.
//
// Signers is the list of public keys with what each may sign, which `jobgraph init --secure` writes. Without a list nothing is
// checked. The package has no state and does no I/O.
package seal
