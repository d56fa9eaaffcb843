// Package seal signs messages with the nkeys of the bus, and finds out whose signature a message has.
//
// Three kinds of messages are sealed: requests, by the sender; the facts by which a job obeys a person: answers, stops and everything else
// on the control subject of a job; and descriptions of payloads, by the program that stores them. A seal covers the subject, and with it
// the job, the request and the tenant; the id and the type of the message; its body; and the time, which must be close to the time at which
// the message is stored or arrives, so that a seal cannot be reused later.
//
// Signers is the list of public keys with what each may sign, which `jobgraph init --secure` writes. Without a list nothing is checked. The
// package has no state and does no I/O.
package seal
