// Package secure makes and reads the folder of a secure installation: keys and certificates, the configuration of the NATS server,
// and for each service, worker and person a file with the variables to start with.
//
// The folder holds all state: access.json lists the identities, and everything else except the keys is made from it again.
package secure
