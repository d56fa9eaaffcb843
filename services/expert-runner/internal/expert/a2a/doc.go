// Package a2a runs experts that are remote agents speaking the A2A protocol: the work is sent as a message, and the result
// of the agent's task is the result. Spec 1.0 and 0.3 are distinguished by the shape of the agent's card.
//
// Sending a message is one effect in the journal, and so is waiting for its task. The id of the remote task is recorded as
// soon as it is known: from then on a crash, a broken connection or a silent stream costs a query, never a second message.
// A message that may have arrived but created no known task has an unknown outcome, and a person decides, unless the
// expert's card says that the agent recognises a message by its id. A task that waits for input becomes a request for input
// and continues with the answer.
//
// Everything that the agent sends is data, limited in time, bytes and events; nothing that it refers to is fetched. Headers
// may contain secrets: they go only to configured hosts, and are neither logged nor journaled.
package a2a
