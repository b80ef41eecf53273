import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { containerVariable, SERVER_VARIABLES } from '../own-servers';
import { isDockerThere, RUN_ID, startContainer } from './containers';
import type { ServerKind } from './images';

/** The process that `global-teardown.ts` stops. */
export type WithRemover = { containerRemover?: ChildProcess };

/*
 * Jest runs this once before the suites that need servers. Starts servers whose address is not in the environment in
 * containers, if a Docker engine is available, and passes their addresses to the tests in environment variables. A
 * suite without its server is skipped and says so. TEST_CONTAINERS=off starts none.
 */

export default async function startServers(): Promise<void> {
  const kinds = Object.keys(SERVER_VARIABLES) as ServerKind[];
  const missing = kinds.filter((kind) => !process.env[SERVER_VARIABLES[kind]]);
  if (missing.length === 0 || process.env.TEST_CONTAINERS === 'off') return;
  if (!(await isDockerThere())) {
    const variables = missing.map((kind) => SERVER_VARIABLES[kind]).join(', ');
    return say(`no Docker engine is available; suites that need ${variables} are skipped`);
  }
  const run_id = randomUUID();
  process.env[RUN_ID] = run_id;
  // Setup and teardown can share state only through this object.
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
    say(`no container for ${SERVER_VARIABLES[kind]}; suites that need it are skipped: ${reason}`);
  }
}

/** Starts the remover in its own session, so that Ctrl-C in a terminal does not end it together with the tests. */
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
