import type { Pipelines } from '../../services/boot/pipelines';
import { fetch } from './fetch';
import { WAIT_MS_MAX } from './wait-for';

/**
 * The destination of a service's log. A write waits for its projection for at most a second and logs if that was
 * too short. On a busy machine the next read could then return the state before the write.
 */
export class LateWrites {
  private count = 0;
  private settled_count = 0;

  write(line: string): void {
    if (line.includes('"msg":"write not projected yet"')) this.count += 1;
    // The client repeats the request, so that a test may not see the error.
    if (line.includes('"msg":"request failed"')) process.stderr.write(line);
  }

  /** Waits until late writes are projected, whoever made them: a page of the console, too. */
  async settle(pipelines: Pick<Pipelines, 'caughtUp'>): Promise<void> {
    const { count } = this;
    if (count === this.settled_count) return;
    if (!(await pipelines.caughtUp(WAIT_MS_MAX))) throw new Error('the documents did not catch up');
    this.settled_count = count;
  }

  /** Returns a `fetch` that waits for late writes before and after each request to the service. */
  settling(service: () => { readonly pipelines: Pick<Pipelines, 'caughtUp'> }, send = fetch): typeof fetch {
    return async (...args) => {
      await this.settle(service().pipelines);
      const response = await send(...args);
      await this.settle(service().pipelines);
      return response;
    };
  }
}
