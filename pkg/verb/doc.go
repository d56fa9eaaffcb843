// Package verb is the table of everything that a program can ask of Jobgraph: each verb with its input, output, faults, roles and
// effect, and where it can be reached. The endpoints on the bus with their metadata, the routes of the gateway, the OpenAPI and
// AsyncAPI documents, the matrix of roles and the tables in the docs are made from it. The package also maps fault codes to HTTP
// statuses.
//
// It holds data and pure functions. Services answer the verbs.
package verb
