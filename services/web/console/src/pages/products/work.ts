import { CatalogApiError, type CatalogClient, CatalogProposedError, type Publication } from 'catalog-client';
import { useSyncExternalStore } from 'react';
import { type Api, useApi } from '../../lib/api';
import { type Body, hasValues, type Refusal, valuesBefore, withAllVariants } from './fields';

/** Products that one batch writes. Small enough that the progress moves and a stop is quick; the service takes 500. */
const PORTION = 200;
/** Products that one read by ids returns. */
const READ_MAX = 50;
/** Requests at the same time, where each is about one product. */
const TOGETHER = 6;

interface Named {
  readonly id: string;
  readonly title: string;
}
/** A write that was done, with what undoes it. */
interface Write extends Named {
  readonly before: Body;
  readonly after: Body | 'delete';
}
export interface Failure extends Named {
  /** A `CatalogProposedError` if the change was proposed. */
  readonly error: Refusal;
}
export interface Outcome {
  readonly writes: Write[];
  readonly failed: Failure[];
  /** Products that were left alone, because somebody else has changed them meanwhile. */
  readonly left: Named[];
}

/** Says what to write. Undefined: the product stays as it is. `leave`: somebody else has changed it. */
type Decide = (product: Publication) => Body | 'delete' | 'leave' | undefined;

interface Following {
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number) => void;
}

const chunksOf = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));

async function forEachTogether<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const workers = Array.from({ length: TOGETHER }, async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  });
  await Promise.all(workers);
}

/** Reads products as they are now, in the order of the ids. Leaves out those that do not exist any more. */
export async function readProducts(
  client: CatalogClient,
  ids: readonly string[],
  { signal, onProgress }: Following = {},
): Promise<Publication[]> {
  const pages = new Map<string[], Publication[]>();
  const chunks = chunksOf(ids, READ_MAX);
  await forEachTogether(chunks, async (chunk) => {
    if (signal?.aborted) return;
    const query = { ids: chunk, visibility: 'all', expand: ['variants'] } as const;
    pages.set(chunk, (await client.publications.list(query).page()).data);
    onProgress?.(pages.size * READ_MAX);
  });
  return chunks.flatMap((chunk) => pages.get(chunk) ?? []);
}

/**
 * Writes what `decide` says for each product as it is now. Errors of single products are in `outcome`. Rejects with any other
 * error, such as a lost connection; `outcome` then has the writes that were made before.
 */
export async function perform(
  client: CatalogClient,
  ids: readonly string[],
  decide: Decide,
  {
    signal,
    onProgress,
    outcome = { writes: [], failed: [], left: [] },
  }: Following & { outcome?: Outcome } = {},
): Promise<Outcome> {
  let done = 0;
  for (const portion of chunksOf(ids, PORTION)) {
    if (signal?.aborted) break;
    const together: Write[] = [];
    const alone: Publication[] = [];
    for (const product of await readProducts(client, portion)) {
      const after = decide(product);
      if (after === 'leave') outcome.left.push(product);
      else if (after && after !== 'delete' && after.variants) alone.push(product);
      else if (after) together.push(writeOf(product, after));
    }
    await writeTogether(client, together, outcome);
    await forEachTogether(alone, (product) => writeVariants(client, product, decide, outcome));
    done += portion.length;
    onProgress?.(done);
  }
  return outcome;
}

const writeOf = (product: Publication, after: Body | 'delete'): Write => ({
  id: product.id,
  title: product.title,
  before: after === 'delete' ? {} : valuesBefore(product, after),
  after,
});

const itemOf = ({ id, after }: Write) =>
  after === 'delete' ? ({ action: 'delete', id } as const) : ({ action: 'update', id, body: after } as const);

async function writeTogether(
  client: CatalogClient,
  writes: readonly Write[],
  outcome: Outcome,
): Promise<void> {
  if (writes.length === 0) return;
  try {
    const { items } = await client.publications.batch(
      { items: writes.map(itemOf) },
      { on_error: 'skip_failed' },
    );
    const isLate = (index: number) => items[index]?.error?.code === 'LIMIT_EXCEEDED';
    writes.forEach((write, index) => {
      const error = items[index]?.error;
      if (!error) outcome.writes.push(write);
      else if (!isLate(index)) outcome.failed.push({ ...write, error });
    });
    // The time of the batch was used up before these items.
    await inHalves(
      client,
      writes.filter((_, index) => isLate(index)),
      outcome,
    );
  } catch (error) {
    if (error instanceof CatalogProposedError) {
      outcome.failed.push(...writes.map((write) => ({ ...write, error })));
      return;
    }
    const is_too_long = error instanceof CatalogApiError && error.status === 413;
    if (!is_too_long || writes.length === 1) throw error;
    await inHalves(client, writes, outcome);
  }
}

async function inHalves(client: CatalogClient, writes: readonly Write[], outcome: Outcome): Promise<void> {
  for (const half of chunksOf(writes, Math.ceil(writes.length / 2) || 1))
    await writeTogether(client, half, outcome);
}

/** Whether the error is about the product only, so that the others can go on. A proposal of its change is one. */
const isOfProduct = (error: unknown): error is CatalogApiError | CatalogProposedError =>
  error instanceof CatalogProposedError ||
  (error instanceof CatalogApiError && error.status < 500 && error.status !== 429);

/** Writes a product with its variants. The list of variants is replaced, so nobody else may write at the same moment. */
async function writeVariants(
  client: CatalogClient,
  { id, title }: Publication,
  decide: Decide,
  outcome: Outcome,
): Promise<void> {
  for (let attempts_left = 3; ; ) {
    try {
      const product = await client.publications.get(id, { visibility: 'all', expand: ['variants'] });
      const variants = product.variants.has_more
        ? await client.publications.variants(id, { visibility: 'all' }).all()
        : product.variants.data;
      const full = { ...product, variants: { ...product.variants, data: variants } };
      const after = decide(full);
      if (after === 'leave') outcome.left.push({ id, title });
      if (!after || after === 'leave' || after === 'delete') return;
      await client.publications.update(id, withAllVariants(full, after), { ifMatch: product });
      outcome.writes.push(writeOf(full, after));
      return;
    } catch (error) {
      if (!isOfProduct(error)) throw error;
      if (error instanceof CatalogApiError && error.status === 412 && --attempts_left > 0) continue;
      outcome.failed.push({ id, title, error });
      return;
    }
  }
}

/** Gives products the values from before. Leaves those alone that somebody else has changed since; restores deleted ones. */
export async function takeBack(
  client: CatalogClient,
  writes: readonly Write[],
  following: Following & { outcome?: Outcome } = {},
): Promise<Outcome> {
  const by_id = new Map(writes.map((write) => [write.id, write]));
  const deleted = writes.filter(({ after }) => after === 'delete');
  const changed = writes.filter(({ after }) => after !== 'delete').map(({ id }) => id);
  const decide: Decide = (product) => {
    const { before, after } = by_id.get(product.id)!;
    return after !== 'delete' && hasValues(product, after) ? before : 'leave';
  };
  const outcome = await perform(client, changed, decide, following);
  let done = changed.length;
  await forEachTogether(deleted, async (write) => {
    if (following.signal?.aborted) return;
    try {
      await client.publications.restore(write.id, { respondAsync: true });
      outcome.writes.push(write);
    } catch (error) {
      if (!isOfProduct(error)) throw error;
      outcome.failed.push({ ...write, error });
    }
    following.onProgress?.(++done);
  });
  return outcome;
}

/** A change of many products that runs, or has run. It goes on while other pages of the console are open. */
export interface Job {
  readonly store_id: string;
  readonly label: string;
  readonly isUndo: boolean;
  readonly state: 'running' | 'done' | 'stopped';
  readonly done: number;
  readonly total: number;
  readonly outcome: Outcome;
  /** Why it stopped before the end. */
  readonly error?: unknown;
  stop(): void;
  undo(): void;
}

/** The last job of each store, by the id of the store. */
const jobs = new Map<string, Job>();
const listeners = new Set<() => void>();

function setJob(store_id: string, job: Job | undefined): void {
  if (job) jobs.set(store_id, job);
  else jobs.delete(store_id);
  for (const listener of [...listeners]) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The last change of many products of the store. */
export function useJob(): Job | undefined {
  const { store_id } = useApi();
  return useSyncExternalStore(subscribe, () => jobs.get(store_id));
}
export const closeJob = ({ store_id }: Job): void => setJob(store_id, undefined);

type Run = (following: Following & { outcome: Outcome }) => Promise<Outcome>;

/** Starts a change of many products. Resolves with its outcome when it ends. A store runs one job at a time. */
export async function startJob(
  api: Pick<Api, 'client' | 'store_id'>,
  label: string,
  total: number,
  run: Run,
  isUndo = false,
): Promise<Outcome> {
  const stopping = new AbortController();
  const outcome: Outcome = { writes: [], failed: [], left: [] };
  const undo = () => {
    const writes = [...outcome.writes];
    void startJob(api, label, writes.length, (following) => takeBack(api.client, writes, following), true);
  };
  const stop = () => stopping.abort();
  const warn = (event: Event) => event.preventDefault();
  addEventListener('beforeunload', warn);
  const { store_id } = api;
  let job: Job = { store_id, label, isUndo, state: 'running', done: 0, total, outcome, stop, undo };
  const change = (changes: Partial<Job>) => {
    job = { ...job, ...changes };
    setJob(store_id, job);
  };
  change({});
  try {
    await run({ signal: stopping.signal, onProgress: (done) => change({ done }), outcome });
    change({ state: stopping.signal.aborted ? 'stopped' : 'done' });
  } catch (error) {
    change({ state: 'stopped', error });
  }
  removeEventListener('beforeunload', warn);
  return outcome;
}
