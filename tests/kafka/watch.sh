#!/bin/sh
# Runs a command and ends it when standard input closes, which it does when the process that started this dies,
# however it dies. `WATCH_DIR` is removed then; a line "keep" before the end leaves it.
"$@" &
child=$!
keep=no
while read -r line; do
    [ "$line" = keep ] && keep=yes
    # The command may have ended by itself: nothing more to watch.
    kill -0 "$child" 2>/dev/null || break
done
kill -TERM "$child" 2>/dev/null
(
    sleep 10
    kill -KILL "$child" 2>/dev/null
) &
killer=$!
wait "$child"
kill "$killer" 2>/dev/null
[ "$keep" = no ] && [ -n "$WATCH_DIR" ] && rm -rf "$WATCH_DIR"
exit 0
