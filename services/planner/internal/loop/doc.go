// Package loop takes planning work, has it decided and states the outcome: the only place in the planner where the order
// of effects is written. Take, decide, store the plan's blob when it is large, publish the fact where there is none yet,
// acknowledge. A planner without a model is pure: planning twice is harmless, and the first fact of a run wins, so no
// claim is needed.
//
// A Loop owns nothing but the deliveries in hand. It knows the bus by the interfaces in port.go alone.
package loop
