import { writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';

/**
 * Preloaded into a process of the service (`node --require`). At each SIGUSR2 it writes the product's files that had
 * a function called since the last signal to `EXECUTED_FILES`, as a JSON array of paths below `dist/`.
 */
const DIST = /.*\/dist\/(?=services\/|shared\/|projections\/)/;

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error;
    const executed = result.filter((script) => DIST.test(script.url) && wasCalled(script));
    const files = executed.map(({ url }) => url.replace(DIST, '')).sort();
    writeFileSync(process.env.EXECUTED_FILES!, JSON.stringify(files));
  });
});

function wasCalled({ functions }: Profiler.ScriptCoverage): boolean {
  return functions.some(({ ranges }) => ranges[0]!.count > 0);
}
