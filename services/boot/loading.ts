/*
 * Loaded before the other modules of a server process, which take a quarter of a second. Without a handler, the first
 * process of a container ignores a stop signal, and the container would be killed after its grace period.
 */

/** Ends the process. `runProcess` replaces it by a graceful stop. */
export function endLoading(): void {
  process.exit(0);
}

process.on('SIGTERM', endLoading);
process.on('SIGINT', endLoading);
