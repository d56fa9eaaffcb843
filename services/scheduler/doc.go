// Command scheduler owns the state of all jobs: it admits them, applies their events and issues their work. It executes no expert
// and makes no plan. The packages below it do everything; this one only starts them.
package main
