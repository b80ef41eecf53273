import { greatest } from '../../shared/catalog/events/positions';
import { priceRulesOf } from '../../shared/catalog/publication/derived-prices';
import {
  type Publication,
  type PublicationCommand,
  publicationAggregate,
} from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { pricedBy } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import { storeAggregate } from '../../shared/catalog/store/store';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, type StoreDeps } from './execute';
import { waitUntilProjected } from './request';

interface Parts extends StoreDeps {
  readonly views: Readonly<Record<Environment, ActiveView>>;
}

/** Does the work, and logs a failure. */
type Attempt = (what: string, work: () => Promise<void>) => Promise<void>;

const STORES_PAGE = 100;
/** Concurrent writes, which share commits of the log. */
const PAGE_SIZE = 100;
/** Longer than a write may go on with the rules from before a change. */
const SETTLING_MS = 10_000;
/** Time between two looks at a store without open work. They find the writes of a process that was stopped for a long time. */
const AGAIN_MS = 60_000;
/** How long to wait before documents that do not show their last events yet are read again. */
const RETRY_MS = 2_000;

/** What is known of a store with price rules. */
interface Known {
  /** The version of the store, and when this process has seen it first. */
  readonly version: number | null;
  readonly seen_ms: number;
  again_ms: number;
  /** How many publications to skip, because an attempt has changed nothing. */
  skip: number;
}

/**
 * Gives the publications of a store the price rules of its markets after they have changed
 * (docs/interface/markets.md#derived-prices). A label of each publication says which rules it has. So the publications
 * that are left are found again after the process has ended.
 */
export class PriceRulesUpdate {
  private readonly stores = new Map<string, Known>();

  constructor(
    private readonly parts: Parts,
    private readonly environment: Environment,
    private readonly attempt: Attempt,
  ) {}

  /** Updates up to `PAGE_SIZE` publications of each store. Returns whether there may be more. */
  async round(signal: AbortSignal): Promise<boolean> {
    let has_more = false;
    await this.attempt('reading stores with price rules', async () => {
      const view = await this.parts.views[this.environment].current();
      const query = { where: { derives: 1 }, order: [['id', 'asc']], limit: STORES_PAGE } as const;
      for (let skip = 0; view && !signal.aborted; skip += STORES_PAGE) {
        const page = await view.find('stores', { ...query, skip });
        for (const { id, document } of page) {
          const known = this.knownOf(id, document!.keys.version);
          if (signal.aborted || known.again_ms > this.parts.system.now()) continue;
          await this.attempt(`price rules of ${id}`, async () => {
            has_more = (await this.update(view.upToDate ?? view, id as StoreId, known)) || has_more;
          });
        }
        if (page.length < STORES_PAGE) return;
      }
    });
    return has_more;
  }

  private knownOf(id: string, version: number | null): Known {
    const known = this.stores.get(id);
    if (known?.version === version) return known;
    const fresh = { version, seen_ms: this.parts.system.now(), again_ms: 0, skip: 0 };
    this.stores.set(id, fresh);
    return fresh;
  }

  private async update(view: DocumentReader, store_id: StoreId, known: Known): Promise<boolean> {
    const { environment, parts } = this;
    const store = await findInLog(parts, environment, storeAggregate, store_id);
    const price_rules = priceRulesOf(store ?? {});
    const scope = { store_id, visibility: { in: visibilitySchema.options } };
    const { documents } = await view.search('publications', {
      ...{ scope, where: scope, order: orderOf('created_at_desc'), skip: known.skip, limit: PAGE_SIZE },
      ...{ tiers: [[]], excluded: [pricedBy(price_rules)], is_exhaustive: true },
    });
    const positions: bigint[] = [];
    const setRules = async (id: string): Promise<void> => {
      const ref = streamIn(parts, environment, publicationAggregate, id as PublicationId);
      const context = { source: 'system', request_id: `price-rules-${store_id}` } as const;
      const prepare = () => ({ command: { type: 'SetPriceRules', price_rules } as const });
      const written = await execute<Publication, PublicationCommand>({ ...ref, context, prepare });
      if (written.changed) positions.push(written.position);
    };
    await Promise.all(documents.map(({ id }) => this.attempt(id, () => setRules(id))));

    const now = parts.system.now();
    const is_page = documents.length === PAGE_SIZE;
    known.skip = is_page ? known.skip + PAGE_SIZE - positions.length : 0;
    if (positions.length > 0) {
      await waitUntilProjected(parts.views[environment], store_id, greatest(positions));
      return true;
    }
    if (documents.length > 0) known.again_ms = is_page ? 0 : now + RETRY_MS;
    else known.again_ms = now < known.seen_ms + SETTLING_MS ? 0 : now + AGAIN_MS;
    return is_page;
  }
}
