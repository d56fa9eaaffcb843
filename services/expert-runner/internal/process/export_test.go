package process

// EchoKey is the variable that makes this program one that echoes its input.
const EchoKey = "JOBGRAPH_TEST_ECHO"
