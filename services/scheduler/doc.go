// Command scheduler owns the state of all jobs: it admits them, steps them by their events and issues their work. It runs no
// expert and makes no plan. Everything it does is in the packages below it; this one only hands the process over.
package main
