/** Loaded into a process before it starts (`node --require`): its clock is `CLOCK_AHEAD_MS` ahead of the machine's. */
const ahead_ms = Number(process.env.CLOCK_AHEAD_MS);
const now = Date.now;
Date.now = () => now() + ahead_ms;
