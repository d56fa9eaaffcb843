// Command planner answers planning work: it decodes the plan of a request, checks it against the available experts and
// publishes the graph, or everything that is wrong with it. It holds no state: any number of planners may run.
package main
