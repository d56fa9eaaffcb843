#!/bin/sh
set -eu
find attachments -type f | sort | while read -r file; do
	echo "- ${file##*/}: $(($(wc -w <"$file"))) words"
done >out/counts.txt
cat out/counts.txt
