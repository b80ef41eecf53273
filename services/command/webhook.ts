import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newWebhookBody, replayBody, webhookPatchBody } from '../../shared/api/requests/writes';
import { type Position, streamName } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import {
  type Webhook,
  type WebhookCommand,
  webhookAggregate,
  webhookResource,
} from '../../shared/catalog/webhook/webhook';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { LRUCache } from '../../shared/kernel/cache';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId, WebhookId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { markOf, offsetOf, tailOf } from '../../shared/ports/log-offset';
import { streamIn } from '../../shared/ports/stream-state';
import { execute, executeOn, idForNew, type Prepared, type Written, withResource } from './execute';
import {
  answerTo,
  guardFor,
  type RouteDeps,
  readView,
  storeForNew,
  waitUntilProjected,
  writeContextOf,
} from './request';
import { deletionRoute, patchRoute } from './resource';
import { serialiseByStream } from './write-queue';

/** How long the old secret signs after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;
const SECRET_BYTES = 32;

export function webhookRoutes(deps: RouteDeps): Route[] {
  const bodies = bodiesFor(() => deps.config);
  const creation = new Creation(deps);
  type CommandOf = (request: ApiRequest) => WebhookCommand | Promise<WebhookCommand>;
  const change =
    (commandOf: CommandOf) =>
    async (request: ApiRequest): Promise<Answer> => {
      const { environment } = request.principal;
      const ref = streamIn(deps, environment, webhookAggregate, request.params.id as WebhookId);
      const guard = guardFor(request, deps.stores, webhookAggregate.not_found);
      const command = await commandOf(request);
      const written = await executeOn(ref, writeContextOf(request), command, guard);
      return answerAfter(deps, request, written, command.type === 'RotateSecret');
    };
  return [
    routeOf(writes.createWebhook, (request) =>
      creation.create(request, parseBody(bodies.create, request.body)),
    ),
    patchRoute(deps, writes.updateWebhook, webhookAggregate, bodies.update, webhookResource),
    deletionRoute(deps, writes.deleteWebhook, webhookAggregate),
    routeOf(
      writes.pingWebhook,
      change(() => ({ type: 'Ping' })),
    ),
    routeOf(
      writes.replayWebhook,
      change(async ({ body, principal }) => {
        const { from } = parseBody(replayBody, body);
        return { type: 'Replay', after: offsetOf(await markOf(deps.events[principal.environment], from)) };
      }),
    ),
    routeOf(
      writes.rotateWebhookSecret,
      change(() => ({
        type: 'RotateSecret',
        secret: newSecret(),
        previous_until: timestamp(deps.system.now() + OVERLAP_MS),
      })),
    ),
  ];
}

/** Returns the schemas of bodies. Addresses with `http://` are only for installations that send to them. */
function bodiesFor(configOf: () => RouteDeps['config']) {
  const isSecure = ({ url }: { readonly url?: string | undefined }): boolean =>
    url === undefined || configOf().WEBHOOKS === 'private' || /^https:/i.test(url);
  const fault = { path: ['url'], params: { condition: 'invalid_url' }, error: 'an https:// URL' };
  return { create: newWebhookBody.refine(isSecure, fault), update: webhookPatchBody.refine(isSecure, fault) };
}

/** For how many stores a process knows which webhook it has created last. */
const STORES_MAX = 1_000;

/** Creates webhooks, and limits how many a store has. */
class Creation {
  /** By store, the position of the last webhook that this process has created. */
  private readonly last = new LRUCache<StoreId, Position>({ max: STORES_MAX });

  constructor(private readonly deps: RouteDeps) {}

  /** Handles `POST /api/webhook`. */
  async create(request: ApiRequest, body: z.output<typeof newWebhookBody>): Promise<Answer> {
    const { deps } = this;
    const context = writeContextOf(request);
    const { environment } = request.principal;
    const { store_id: sent_store_id, description = null, events = [], url } = body;
    const store_id = storeForNew(request, sent_store_id);
    const { id, loaded } = await idForNew(deps, environment, webhookAggregate, context);
    const after = offsetOf(await tailOf(deps.events[environment]));
    const prepare = async (): Promise<Prepared<WebhookCommand>> => {
      await deps.stores.require(environment, store_id);
      await this.assertRoom(environment, store_id);
      const webhook = { store_id, url, description, events, secret: newSecret(), after };
      return { command: { type: 'Create', webhook } };
    };
    const ref = streamIn(deps, environment, webhookAggregate, id);
    // One after another, so that each is counted before the next. No webhook has the id of a store.
    const queue = streamName(environment, 'webhook', store_id);
    const written = await serialiseByStream(deps.events[environment], queue, async () => {
      const created = await execute<Webhook, WebhookCommand>({ ...ref, context, loaded, prepare });
      this.last.set(store_id, created.position);
      return withResource(created);
    });
    return answerAfter(deps, request, written, true, `/api/webhook/${id}`);
  }

  /**
   * Throws `too_many_webhooks` if the store has as many as it may have. Creations in several processes at the same time may
   * exceed that by one for each process. Throws `unavailable` if the documents that count them are not up to date in time.
   */
  private async assertRoom(environment: Environment, store_id: StoreId): Promise<void> {
    const { deps } = this;
    const position = this.last.get(store_id);
    const is_counted =
      position === undefined || (await waitUntilProjected(deps.views[environment], store_id, position));
    const count = await readView(deps, environment, (version) => version.count('webhooks', { store_id }));
    if (!is_counted || count === undefined) throw new CatalogError('unavailable');
    if (count >= deps.config.WEBHOOKS_PER_STORE) throw new CatalogError('too_many_webhooks');
  }
}

const answerAfter = (
  deps: RouteDeps,
  request: ApiRequest,
  written: Written<Webhook>,
  with_secret: boolean,
  location?: string,
): Promise<Answer> =>
  answerTo(
    deps,
    request,
    written,
    (webhook) => ({
      ...webhookResource(webhook),
      ...(with_secret && { secret: webhook.secrets[0]!.value }),
    }),
    location,
  );

/** Returns a secret in the form of Standard Webhooks 1.0. */
const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
