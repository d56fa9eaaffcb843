// Package canvas derives pictures of a job from its log: its graph at an event, with places, and the history of that graph for a
// slider. It follows a log event by event and keeps what a picture shows, not the events.
//
// It decides nothing about jobs (pkg/graph does) or about where nodes stand (pkg/drawing does). It has no clock and does no I/O. A
// Canvas has one owner.
package canvas
