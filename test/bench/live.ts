import { pino } from 'pino';
import { openRuntime, type Runtime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createPublication, newPublicationSchema } from '../../services/command/publication';
import { createStore } from '../../services/command/store';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { parseConfig } from '../../shared/kernel/config';
import type { StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';

const STORES = 8;
const CONCURRENCY = 64;
const PROJECTED_WITHIN_MS = 120_000;

/** Appends to the log of a running service without HTTP, and measures when the service has projected it. */
export class LiveProjection {
  private readonly runtime: Runtime;
  private readonly stores: StoreId[] = [];
  private requests = 0;

  private constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  static async open(settings: Readonly<Record<string, string>>): Promise<LiveProjection> {
    const config = parseConfig({ ...settings, DEMO: 'off' });
    const live = new LiveProjection(await openRuntime(config, pino({ level: 'silent' }), realSystem));
    const account = await createAccount(live.deps, live.context(), { name: 'Live' });
    const place = { account_id: account.value.id };
    for (let n = 0; n < STORES; n++) {
      const about = { name: `Live ${n}`, environment: 'live' } as const;
      live.stores.push((await createStore(live.deps, live.context(), place, about)).value.id);
    }
    return live;
  }

  /**
   * Creates `count` publications, 64 at once, in eight stores. Returns publications per second, from the first append
   * until the last one is projected.
   */
  async burst(count: number): Promise<number> {
    const started_ms = performance.now();
    await this.projected(await this.append(count));
    return count / ((performance.now() - started_ms) / 1_000);
  }

  /** Creates publications as `burst` does. Returns the position of the last one of each store. */
  async append(count: number): Promise<ReadonlyMap<StoreId, bigint>> {
    let next = 0;
    const last = new Map<StoreId, bigint>();
    const writer = async (): Promise<void> => {
      while (next < count) {
        const store_id = this.stores[next++ % STORES]!;
        const position = await this.create(store_id);
        if (position > (last.get(store_id) ?? 0n)) last.set(store_id, position);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, writer));
    return last;
  }

  private async projected(last: ReadonlyMap<StoreId, bigint>): Promise<void> {
    await Promise.all([...last].map(([store_id, position]) => this.waitUntilProjected(store_id, position)));
  }

  /**
   * Creates one publication. Returns the time until it is in the log, and from there until it is in the documents, in
   * µs.
   */
  async alone(): Promise<{ write_us: number; project_us: number }> {
    const store_id = this.stores[0]!;
    const started_ms = performance.now();
    const position = await this.create(store_id);
    const written_ms = performance.now();
    await this.waitUntilProjected(store_id, position);
    const projected_ms = performance.now();
    return { write_us: 1_000 * (written_ms - started_ms), project_us: 1_000 * (projected_ms - written_ms) };
  }

  /** Waits until all writes of a store are projected. */
  async caughtUp(store_id: StoreId): Promise<void> {
    await this.waitUntilProjected(store_id, await this.create(store_id));
  }

  private async create(store_id: StoreId): Promise<bigint> {
    const fields = { title: `Live ${this.requests}`, price_currency: 'USD', price_amount: 999 };
    const target = { environment: 'live', store_id } as const;
    const input = newPublicationSchema.parse(fields);
    return (await createPublication(this.deps, this.context(), target, input)).position;
  }

  private async waitUntilProjected(store_id: StoreId, position: bigint): Promise<void> {
    const { live } = this.runtime.views;
    const version = await live.current();
    const reached = await version!.waitFor(
      partitionOf(store_id, live.partition_count),
      position,
      PROJECTED_WITHIN_MS,
    );
    if (!reached) throw new Error(`not projected within ${PROJECTED_WITHIN_MS} ms`);
  }

  private get deps() {
    return { system: realSystem, events: this.runtime.events };
  }

  private context() {
    return { source: 'cli', request_id: `live-${++this.requests}` } as const;
  }

  close(): Promise<void> {
    return this.runtime.close();
  }
}
