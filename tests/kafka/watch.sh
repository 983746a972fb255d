#!/bin/sh
# Runs a command and ends it when standard input closes, which it does when the process that started this dies,
# however it dies. The folder WATCH_DIR is removed then. Lines on standard input change that: "keep" leaves the
# folder, "kill" does not ask the command to stop but kills it.
"$@" &
child=$!
signal=TERM
keep=no
while read -r line; do
    case "$line" in
    keep) keep=yes ;;
    kill) signal=KILL ;;
    esac
done
kill "-$signal" "$child" 2>/dev/null
(
    sleep 10
    kill -KILL "$child" 2>/dev/null
) &
killer=$!
wait "$child"
kill "$killer" 2>/dev/null
if [ "$keep" = no ] && [ -n "$WATCH_DIR" ]; then
    rm -rf "$WATCH_DIR"
fi
exit 0
