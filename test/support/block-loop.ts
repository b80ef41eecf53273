/**
 * Preloaded into a process: on SIGUSR2, blocks its event loop for `BLOCK_MS` milliseconds, as a long computation would.
 * Does so in a timer: the loop has then sent commands and has not read their replies, and the timers that expire
 * meanwhile run first. (A process that is stopped with SIGSTOP reads what has arrived before its timers run.)
 */
process.on('SIGUSR2', () => {
  setTimeout(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.BLOCK_MS));
  }, 1);
});
