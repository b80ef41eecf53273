import { reads } from '../../shared/api/operations/reads';
import { withoutNulls } from '../../shared/catalog/fields';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { WebhookDocument } from '../../shared/catalog/webhook/document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { bodiesAnswer, pageOf, placeOf } from './list-place';
import { findById, openForId, openStore, type ReadDeps, requestedStore, requireStore } from './read';

const OLDEST_FIRST: SortOrder = [
  ['created_at', 'asc'],
  ['id', 'asc'],
];

/** Handles `GET /api/webhooks`. */
export async function readWebhooks(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseQuery(reads.listWebhooks.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const where = { store_id };
  const place = placeOf(request, query, 'webhooks', OLDEST_FIRST);
  const [page, total] = await Promise.all([
    version.find('webhooks', { where, order: OLDEST_FIRST, ...pageOf(place) }),
    version.count('webhooks', where),
    requireStore(version, store_id),
  ]);
  return bodiesAnswer(place, page, total);
}

/** Handles `GET /api/webhook/:id`. */
export async function readWebhook(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  parseQuery(reads.getWebhook.query, request.query);
  const { body, state } = await findWebhook(deps, request);
  return { data: body, version: state.webhook.version };
}

/** Handles `GET /api/webhook/:id/deliveries`. */
export async function readDeliveries(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const { page, limit } = parseQuery(reads.listDeliveries.query, request.query);
  const { attempts } = (await findWebhook(deps, request)).state.webhook;
  const shown = attempts.toReversed().slice((page - 1) * limit, page * limit);
  return { data: shown.map(withoutNulls), meta: pageMeta({ page, limit, total: attempts.length }) };
}

async function findWebhook(deps: ReadDeps, request: ApiRequest): Promise<WebhookDocument> {
  const version = await openForId(deps, request, 'webhooks');
  const read = { visibility: 'all', isVisible: () => true, parts: ['state'] } as const;
  return (await findById(deps, request, version, 'webhooks', read)).document;
}
