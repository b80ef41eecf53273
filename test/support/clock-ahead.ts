/** Preloaded into a process (`node --require`). Sets its clock `CLOCK_AHEAD_MS` ahead of the machine's. */
const ahead_ms = Number(process.env.CLOCK_AHEAD_MS);
const now = Date.now;
Date.now = () => now() + ahead_ms;
