import { pino } from 'pino';
import { buildQueryApp, startControlLog } from '../../services/boot/apps';
import { type Listening, listen } from '../../services/boot/listen';
import type { Runtime } from '../../services/boot/runtime';
import { ServiceMetrics } from '../../services/metrics/service-metrics';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { pause } from '../../shared/kernel/async';
import { fetch } from './fetch';

/** Headers that differ between two answers to the same request. */
const OF_REQUEST =
  /^(date|connection|keep-alive|transfer-encoding|x-request-id|x-ratelimit-(limit|remaining|reset|tier))$/;
/** A store's status is up to a second old in a read by id, and so is the state of a key. */
const DIFFERS_MS_MAX = 5_000;
/** On a busy machine, a few reads take that long. */
const ATTEMPTS_MIN = 20;
const PAUSE_MS = 50;

/** What is compared of an answer. */
interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Two more query apps on the stores of a running service: one without the edge cache, and one that has a warm cache of its
 * own. They count no views and have their own limits and metrics, so that a test does not notice them.
 */
export class AnswerTwins {
  private readonly cold: Listening;
  private readonly warm: Listening;
  private readonly stopLog: () => Promise<void>;

  private constructor(cold: Listening, warm: Listening, stopLog: () => Promise<void>) {
    this.cold = cold;
    this.warm = warm;
    this.stopLog = stopLog;
  }

  /** Address of the app without the edge cache. */
  get cold_url(): string {
    return this.cold.url;
  }

  static async start(runtime: Runtime): Promise<AnswerTwins> {
    const log = pino({ level: 'silent' });
    const control_log = startControlLog({ ...runtime, log });
    const serve = async (EDGE_CACHE_MB: number): Promise<Listening> => {
      const config = { ...runtime.config, EDGE_CACHE_MB };
      const own = { metrics: new ServiceMetrics(), limiter: new MemoryRateLimiter(), log };
      const app = await buildQueryApp({ ...runtime, ...own, config }, control_log, () => {});
      return listen(app, '127.0.0.1', 0);
    };
    return new AnswerTwins(await serve(0), await serve(16), () => control_log.stop());
  }

  /**
   * Sends the request to both apps, to the warm one twice. Throws unless all answers have the same status, headers and
   * bytes. Answers that differ are read again for some seconds, because writes may go on.
   */
  async compare(path: string, init: RequestInit): Promise<void> {
    const deadline_ms = performance.now() + DIFFERS_MS_MAX;
    for (let attempt = 1; ; attempt++) {
      const first = await this.read(this.warm, path, init);
      const cold = await this.read(this.cold, path, init);
      const second = await this.read(this.warm, path, init);
      const all = [first, cold, second];
      // A refusal of the twins' own limits, or a store that the test has stopped.
      if (all.some(({ status }) => status === 429 || status >= 500)) return;
      if (new Set(all.map((shown) => JSON.stringify(withoutRequestId(shown)))).size === 1) return;
      if (attempt >= ATTEMPTS_MIN && performance.now() > deadline_ms)
        throw new Error(
          `warm and cold answers differ: ${JSON.stringify({ path, first, cold, second }, null, 2)}`,
        );
      await pause(PAUSE_MS);
    }
  }

  private async read({ url }: Listening, path: string, init: RequestInit): Promise<Shown> {
    const response = await fetch(`${url}${path}`, init);
    const headers = [...response.headers].filter(([name]) => !OF_REQUEST.test(name));
    return {
      status: response.status,
      headers: Object.fromEntries(headers.sort()),
      text: Buffer.from(await response.arrayBuffer()).toString('latin1'),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.cold.close({ idle_ms: 1 }), this.warm.close({ idle_ms: 1 })]);
    await this.stopLog();
  }
}

/** Errors contain the id of their request. */
function withoutRequestId(shown: Shown): Shown {
  return { ...shown, text: shown.text.replace(/"(request_id|timestamp)":"[^"]*"/g, '') };
}
