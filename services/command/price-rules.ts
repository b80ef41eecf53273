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

/** Runs the work. Logs a failure and does not throw it. */
type Attempt = (what: string, work: () => Promise<void>) => Promise<void>;

const STORES_PAGE = 100;
/** Concurrent writes, which share commits of the log. */
const PAGE_SIZE = 100;
/** Longer than a write that began before a change of the rules can last. */
const SETTLING_MS = 10_000;
/** Time between two looks at a settled store. A process that was paused for minutes may have written with old rules. */
const AGAIN_MS = 60_000;
/** Time until documents are read again that do not show their last events yet. */
const RETRY_MS = 2_000;

/** When to look at a store next: at once, without the first `skip` publications, which could not be changed, or at a time. */
type Next = { readonly skip: number } | { readonly at_ms: number };

/** What this process knows of a version of a store. Until `settled_ms`, writes may still use the rules of the version before. */
interface Known {
  readonly version: number | null;
  readonly settled_ms: number;
  next: Next;
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
          const is_due = 'skip' in known.next || known.next.at_ms <= this.parts.system.now();
          if (signal.aborted || !is_due) continue;
          await this.attempt(`price rules of ${id}`, async () => {
            known.next = await this.update(view.upToDate ?? view, id as StoreId, known);
            has_more ||= 'skip' in known.next;
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
    const fresh = { version, settled_ms: this.parts.system.now() + SETTLING_MS, next: { skip: 0 } };
    this.stores.set(id, fresh);
    return fresh;
  }

  private async update(view: DocumentReader, store_id: StoreId, { settled_ms, next }: Known): Promise<Next> {
    const { environment, parts } = this;
    const skip = 'skip' in next ? next.skip : 0;
    const store = await findInLog(parts, environment, storeAggregate, store_id);
    const price_rules = priceRulesOf(store ?? {});
    const scope = { store_id, visibility: { in: visibilitySchema.options } };
    const { documents } = await view.search('publications', {
      ...{ scope, where: scope, order: orderOf('created_at_desc'), skip, limit: PAGE_SIZE },
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

    const [found, written] = [documents.length, positions.length];
    if (written > 0) await waitUntilProjected(parts.views[environment], store_id, greatest(positions));
    if (found === PAGE_SIZE) return { skip: skip + found - written };
    if (written > 0) return { skip: 0 };
    const now = parts.system.now();
    if (found > 0) return { at_ms: now + RETRY_MS };
    return { at_ms: now < settled_ms ? now : now + AGAIN_MS };
  }
}
