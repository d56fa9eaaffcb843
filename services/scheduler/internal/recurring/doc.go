// Package recurring keeps all schedules: it folds their facts, which it reads from the first stored one, and carries out the
// commands that the core, package recur, returns. It is the only place where the order of those effects is written.
//
// Nothing is polled: the broker fires the timers. The clock is read for one question, whether a run begins in time; the answer is
// also a fact. Every process keeps all schedules and acts for all of them; the ids of jobs, timers and facts are the same
// everywhere, and the broker admits each once. Nothing is stored beside the facts, and their number is bounded: after a while one
// fact replaces all before it.
package recurring
