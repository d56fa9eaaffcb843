// Package scaffold writes small projects that run at once, for `jobgraph new`: an agent, workers in Go and in Python, and a plan written by
// hand, each with tests. The files are embedded; those that end in .tmpl are templates of text/template for a Project.
//
// It asks no questions and starts nothing. template/worker-python/worker.py is a generated copy of examples/workers/worker.py.
package scaffold
