// Package release says what the services that live beside each other know, of whichever release each is: a form or a rule that the
// release before did not know is used only while every live instance that has to understand it declares it.
//
// What there is to declare is one table: a new capability is a name and a line of it. An instance declares its levels in the metadata
// of its micro service; one that says nothing counts as the release before. What cannot be found out counts as not declared: the old
// form is understood by everybody. (What the runners of a pool know stands in the cards of its experts.)
//
// A Gate keeps what it has read for some seconds, and decides nothing about jobs. Level waits for an answer within bounds; Lately is for
// the path of every event, and never waits.
package release
