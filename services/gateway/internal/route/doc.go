// Package route is the HTTP side of the table of verbs: each route is judged by the same steps (where from, who, role, rate, input), and
// most verbs are then asked of the service that answers them on the bus. What is read of a log, an artifact or a stream comes from
// package client.
//
// A fault is an application/problem+json with the fields of a fault; its status comes from package verb. The package decides nothing
// about jobs and holds no state besides the open streams and the limits of users.
package route
