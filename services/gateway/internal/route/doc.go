// Package route is the HTTP side of the table of verbs: each route makes the same checks (origin, user, role, rate, input), and
// most verbs are then executed by the service that has them on the bus. Logs, artifacts and streams are read through package
// client.
//
// A fault is sent as application/problem+json with the fields of a fault; its status comes from package verb. The package decides
// nothing about jobs and holds no state besides the open streams and the limits of users.
package route
