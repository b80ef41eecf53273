import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { containerVariable, SERVER_VARIABLES } from '../own-servers';
import { isDockerThere, RUN_ID, startContainer } from './containers';
import type { ServerKind } from './images';

/** What `global-teardown.ts` ends. */
export type WithRemover = { containerRemover?: ChildProcess };

/*
 * Jest runs this once before the suites that need servers. Servers whose address the environment does not name are
 * started in containers if a Docker engine answers, and their addresses handed to the tests by environment. A suite
 * whose server is neither here nor there is skipped, and says so. TEST_CONTAINERS=off starts none.
 */

export default async function startServers(): Promise<void> {
  const kinds = Object.keys(SERVER_VARIABLES) as ServerKind[];
  const missing = kinds.filter((kind) => !process.env[SERVER_VARIABLES[kind]]);
  if (missing.length === 0 || process.env.TEST_CONTAINERS === 'off') return;
  if (!(await isDockerThere())) {
    const variables = missing.map((kind) => SERVER_VARIABLES[kind]).join(', ');
    return say(`no Docker engine answers: what needs ${variables} is skipped`);
  }
  const run_id = randomUUID();
  process.env[RUN_ID] = run_id;
  // Set-up and teardown share no module, but this object.
  (globalThis as WithRemover).containerRemover = startRemover(run_id);
  await Promise.all(missing.map(start));
}

async function start(kind: ServerKind): Promise<void> {
  try {
    const { url } = await startContainer(kind);
    process.env[containerVariable(kind)] = url;
    say(`${SERVER_VARIABLES[kind]} is ${url}, in a container`);
  } catch (error) {
    const reason = (error as Error).message;
    say(`no container for ${SERVER_VARIABLES[kind]}, so what needs it is skipped: ${reason}`);
  }
}

/** In a session of its own, so that Ctrl-C in a terminal ends the tests and not the one that tidies up after them. */
function startRemover(run_id: string): ChildProcess {
  const script = join(__dirname, 'remove-containers.js');
  const child = spawn(process.execPath, [script, run_id], {
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.unref();
  return child;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
