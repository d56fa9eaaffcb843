// Package recurring keeps all schedules: it folds their facts, which it reads from the first that is kept on, and carries out
// what the core, package recur, says that they owe. It is the only place where the order of those effects is written.
//
// Nothing is polled: the broker fires the timers. The clock is read for one question, whether a run begins in time; the answer
// is a fact, too. Every process keeps all schedules and acts for all of them;
// the ids of jobs, timers and facts are the same everywhere, and the broker admits each once. Nothing is stored beside the
// facts, and those of a schedule are kept few: after a while one fact stands for all before it.
package recurring
