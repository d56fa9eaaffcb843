// Package a2a runs experts that are agents elsewhere, which speak the A2A protocol: the work goes out as a message, and what
// the agent's task comes to is the result. Spec 1.0 and 0.3 are told apart by the shape of the agent's card.
//
// A message is one effect in the journal, and so is waiting for its task. The id of the remote task is kept as soon as it is
// known: from then on a crash, a connection that breaks or a silent stream costs a question, never a second message. A message
// that may have arrived and brought no task is UNKNOWN, and a person decides, unless the card of the expert says that the
// agent knows a message by its id. A task that waits for input is a request for input here, and goes on with the answer.
//
// Whatever the agent sends is data and bounded in time, bytes and events; nothing it names is fetched. Headers may hold
// secrets: they go to the hosts that the configuration names and to no other, and are neither logged nor journaled.
package a2a
