import { writeFileSync } from 'node:fs';

/**
 * Preloaded into a process of the service (`node --require`). At SIGUSR2 it writes the paths of all loaded modules to
 * `LOADED_MODULES`, as a JSON array.
 */
process.on('SIGUSR2', () => {
  writeFileSync(process.env.LOADED_MODULES!, JSON.stringify(Object.keys(require.cache)));
});
