#!/bin/sh
# An expert that leaves a mark of everything it does in the file $MARKS: what, job, SubJob, run, process, name.
#
#   expert.sh work   works until the gate of its SubJob is opened, if it has one
#   expert.sh fork   leaves children and grandchildren that do not listen, and never ends
say() { echo "$1 $JOBGRAPH_JOB $JOBGRAPH_SUBJOB $JOBGRAPH_RUN $$ $NAME" >>"$MARKS"; }

say begin
# Two executions of one SubJob at once: whoever begins later sees the other one.
while read -r what job subjob run pid name; do
	[ "$what $job $subjob" = "begin $JOBGRAPH_JOB $JOBGRAPH_SUBJOB" ] && [ "$pid" != $$ ] || continue
	if grep -qs expert.sh "/proc/$pid/cmdline"; then say overlap; fi
done <"$MARKS"

if [ "$1" = fork ]; then
	trap '' TERM
	(
		(sleep 1000; :) &
		sleep 1000
		:
	) &
	sleep 1000 &
	say forked
	while :; do wait; done
fi

gate="$GATES/$JOBGRAPH_JOB.$JOBGRAPH_SUBJOB"
if [ -p "$gate" ]; then read -r _ <"$gate"; fi
say end
echo "\"$JOBGRAPH_SUBJOB\""
