// Package loop takes planning work, decides it and publishes the outcome. It is the only place in the planner where the order of
// effects is written: take, decide, store a large plan as a blob, publish the fact unless one exists, acknowledge. A planner without
// a model is pure: planning twice is harmless and the first fact of a run wins, so it needs no claim.
//
// A Loop owns nothing but the deliveries that it has taken and not settled yet. It knows the bus only by the interfaces in port.go.
package loop
