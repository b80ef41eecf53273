import { AskedProcess } from './asked-process';
import type { LoadGenerator, LoadPlan, LoadResult, LoadRound } from './load-process';
import { cpuUs } from './process-usage';
import { hasWrk, Wrk } from './wrk';

/** A request as the load generator sends it. */
export interface PlannedRequest {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What one round of requests has shown. */
export interface LoadFigures extends LoadResult {
  readonly per_second: number;
  /** CPU time of the server per response. NaN if the system does not report it. */
  readonly cpu_us: number;
  /** The same of a process that works beside the server. NaN without one. */
  readonly beside_cpu_us: number;
}

/** Returns the text of an HTTP/1.1 request on a kept-alive connection. */
function requestText({ method = 'GET', path, headers = {}, body }: PlannedRequest): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined)
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** The generator that needs nothing installed (`load-process.ts`). */
class OwnGenerator implements LoadGenerator {
  private readonly process = new AskedProcess('load-process.js');

  add = (plan: LoadPlan): Promise<number> => this.process.ask({ add: plan });
  run = (round: LoadRound): Promise<LoadResult> => this.process.ask({ run: round });
  end = (): void => this.process.end();
}

/** Gives work to the load generator: `wrk` if it is installed, else one of this folder. */
export class Load {
  private readonly generator: LoadGenerator = hasWrk() ? new Wrk() : new OwnGenerator();

  /** Hands over requests to a server. Returns a function that runs a round of them. */
  async plan(
    url: string,
    requests: readonly PlannedRequest[],
    pid?: number,
    beside_pid?: number,
  ): Promise<(round: Omit<LoadRound, 'plan'>) => Promise<LoadFigures>> {
    const { hostname, port } = new URL(url);
    const plan = await this.generator.add({
      host: hostname,
      port: Number(port),
      requests: requests.map(requestText),
    });
    return async (round) => {
      const used = (id = pid): number => (id === undefined ? undefined : cpuUs(id)) ?? Number.NaN;
      const usedBeside = (): number => (beside_pid === undefined ? Number.NaN : used(beside_pid));
      const [before_us, before_beside_us] = [used(), usedBeside()];
      const result = await this.generator.run({ plan, ...round });
      if (result.failed > 0)
        throw new Error(
          `${result.failed} requests failed: ${result.first_failure ?? `among ${requests[0]!.path} and others`}`,
        );
      const { responses, elapsed_ms } = result;
      const cpu_us = (used() - before_us) / responses;
      const beside_cpu_us = (usedBeside() - before_beside_us) / responses;
      return { ...result, per_second: (1_000 * responses) / elapsed_ms, cpu_us, beside_cpu_us };
    };
  }

  end(): void {
    this.generator.end();
  }
}
