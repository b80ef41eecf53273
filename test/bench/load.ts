import { Agent, request } from 'node:http';

export interface Load {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** Called once per request. */
  readonly path: () => string;
  readonly body?: () => string;
}

/** Keeps `concurrency` requests running for `duration_ms`; answers per second. Throws on any status above 299. */
export async function requestsPerSecond(load: Load, concurrency: number, duration_ms: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const end = Date.now() + duration_ms;
  let answers = 0;
  const worker = async (): Promise<void> => {
    while (Date.now() < end) {
      await once(load, agent);
      answers++;
    }
  };
  const started = process.hrtime.bigint();
  await Promise.all(Array.from({ length: concurrency }, worker));
  agent.destroy();
  return answers / (Number(process.hrtime.bigint() - started) / 1e9);
}

function once(load: Load, agent: Agent): Promise<void> {
  const { hostname, port } = new URL(load.url);
  const body = load.body?.();
  const headers = body === undefined ? load.headers : { ...load.headers, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = { agent, hostname, port, path: load.path(), method: load.method, headers };
    const sent = request(options, (response) => {
      response.resume();
      response.once('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve();
        else reject(new Error(`${load.method} ${options.path} answered ${response.statusCode}`));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
