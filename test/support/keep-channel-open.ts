import { spawn } from 'node:child_process';

/**
 * Preloaded into a process (`node --require`). Keeps the channel of an HTTP process open for a second after it has died,
 * so that its parent notices its exit first. The channel is descriptor 3.
 */
if (process.argv[2] === 'http')
  spawn('sh', ['-c', 'cat; sleep 1'], { stdio: ['pipe', 'ignore', 'ignore', 3] });
