// Jobgraph-tools offers tools on the files of its working folder to agents: SQL, charts, texts of PDF files and a browser. It speaks MCP on
// standard input and output; an expert-runner starts it in the workspace of a run, inside the sandbox.
package main
