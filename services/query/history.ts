import { reads } from '../../shared/api/operations/reads';
import { type ChangedCategory, changingAggregate } from '../../shared/catalog/changes';
import { streamName } from '../../shared/catalog/events/envelope';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { load, type StreamRef } from '../../shared/ports/stream-state';
import { ChangeCollector, withKeyNames } from './changes';
import {
  accessibleStores,
  assertActive,
  openStore,
  type ReadDeps,
  requestedStore,
  requireSecretKey,
} from './read';

/** How many events are folded for a request. */
const REVISIONS_MAX = 1_000;

const CATEGORIES = {
  publication: { operation: reads.listPublicationHistory, not_found: 'publication_not_found' },
  listing: { operation: reads.listListingHistory, not_found: 'listing_not_found' },
} as const satisfies Partial<Record<ChangedCategory, unknown>>;

/** Returns the handler of the history of a kind of resource. It reads the stream of the resource (docs/interface.md#history). */
export const readHistory =
  (category: keyof typeof CATEGORIES) =>
  async (deps: ReadDeps, request: ApiRequest): Promise<Answer> => {
    const { operation, not_found } = CATEGORIES[category];
    requireSecretKey(request, 'A history');
    const { page, limit, since, actor, before } = parseQuery(operation.query, request.query);
    const { environment } = request.principal;
    const version = await openStore(deps, request, requestedStore(request));
    const { events } = deps[environment];
    const id = request.params.id ?? '';
    const aggregate = changingAggregate(category);
    const ref = { aggregate, events, realm: environment, id } as unknown as StreamRef<{ store_id: StoreId }>;
    const { state, revision } = await load(ref);
    if (state.tag === 'absent') throw new CatalogError(not_found);
    const { store_id } = state.tag === 'present' ? state.resource : state;
    if (!accessibleStores(request).includes(store_id)) throw new CatalogError(not_found);
    assertActive(await version.get('stores', store_id));

    const last = Math.min(revision, (before ?? Number.POSITIVE_INFINITY) - 2);
    const first = Math.max(0, last - REVISIONS_MAX + 1);
    const filter = { store_id, type: [], resource: [], fields: [] };
    const collector = new ChangeCollector(events, filter);
    const stream = streamName(environment, category, id);
    const recorded = last < 0 ? [] : await events.readStream(stream, first, last - first + 1);
    for (const event of recorded) await collector.add(event);
    const wanted = collector.entries
      .filter((entry) => since === undefined || Date.parse(entry.occurred_at) >= Date.parse(since))
      .filter((entry) => actor === undefined || entry.actor.id === actor)
      .reverse();
    const shown = wanted.slice((page - 1) * limit, page * limit);
    const data = (await withKeyNames(deps, shown)) as unknown as Answer['data'];
    return { data, meta: pageMeta({ page, limit, total: wanted.length }) };
  };
