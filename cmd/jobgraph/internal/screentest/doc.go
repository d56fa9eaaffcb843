// Package screentest is a terminal for tests: a real pseudo-terminal, and a screen that shows what was written to it as a terminal
// would. It knows the few sequences that this program writes, and reports every other one.
package screentest
