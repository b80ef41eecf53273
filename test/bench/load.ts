import { Agent, request } from 'node:http';

/** Describes the requests of one measurement. */
export interface RequestTemplate {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** Called once per request. */
  readonly path: () => string;
  readonly body?: () => string;
}

/**
 * Keeps `concurrency` requests running for `duration_ms`. Returns responses per second. Rejects on any status above
 * 299.
 */
export async function requestsPerSecond(
  template: RequestTemplate,
  concurrency: number,
  duration_ms: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const end = Date.now() + duration_ms;
  let responses = 0;
  const worker = async (): Promise<void> => {
    while (Date.now() < end) {
      await send(template, agent);
      responses++;
    }
  };
  const started = process.hrtime.bigint();
  await Promise.all(Array.from({ length: concurrency }, worker));
  agent.destroy();
  return responses / (Number(process.hrtime.bigint() - started) / 1e9);
}

/** Sends `count` requests, one after another. Returns the duration of each in ms. Rejects on any status above 299. */
export async function durationsMs(template: RequestTemplate, count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const durations: number[] = [];
  for (let n = 0; n < count; n++) {
    const started_ms = performance.now();
    await send(template, agent);
    durations.push(performance.now() - started_ms);
  }
  agent.destroy();
  return durations;
}

function send(template: RequestTemplate, agent: Agent): Promise<void> {
  const { hostname, port } = new URL(template.url);
  const body = template.body?.();
  const headers =
    body === undefined ? template.headers : { ...template.headers, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = { agent, hostname, port, path: template.path(), method: template.method, headers };
    const client_request = request(options, (response) => {
      response.resume();
      response.once('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve();
        else reject(new Error(`${template.method} ${options.path} returned ${response.statusCode}`));
      });
    });
    client_request.once('error', reject);
    client_request.end(body);
  });
}
