import { randomBytes } from 'node:crypto';
import { writes } from '../../shared/api/operations/writes';
import { newWebhookBody, replayBody, webhookPatchBody } from '../../shared/api/requests/writes';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import {
  type Webhook,
  type WebhookCommand,
  webhookAggregate,
  webhookResource,
} from '../../shared/catalog/webhook/webhook';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import type { WebhookId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { markOf, offsetOf, tailOf } from '../../shared/ports/log-offset';
import { streamIn } from '../../shared/ports/stream-state';
import { execute, executeOn, idForNew, type Written, withResource } from './execute';
import { awaitProjection, guardFor, type RouteDeps, storeForNew, writeContextOf } from './request';
import { deletionRoute, patchRoute } from './resource';

/** How long the old secret signs after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;
const SECRET_BYTES = 32;

export function webhookRoutes(deps: RouteDeps): Route[] {
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
    routeOf(writes.createWebhook, (request) => create(deps, request)),
    patchRoute(deps, writes.updateWebhook, webhookAggregate, webhookPatchBody, webhookResource),
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

/** Handles `POST /api/webhook`. */
async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const { environment } = request.principal;
  const { store_id: sent_store_id, description, events = [], url } = parseBody(newWebhookBody, request.body);
  const store_id = storeForNew(request, sent_store_id);
  const { id, loaded } = await idForNew(deps, environment, webhookAggregate, context);
  const after = offsetOf(await tailOf(deps.events[environment]));
  const check = async (): Promise<WebhookCommand> => {
    await deps.stores.require(environment, store_id);
    const webhook = { store_id, url, description: description ?? null, events, secret: newSecret(), after };
    return { type: 'Create', webhook };
  };
  const ref = streamIn(deps, environment, webhookAggregate, id);
  const written = withResource(await execute<Webhook, WebhookCommand>({ ...ref, context, loaded, check }));
  const answer = await answerAfter(deps, request, written, true);
  return { ...answer, status: 201, headers: { ...answer.headers, Location: `/api/webhook/${id}` } };
}

async function answerAfter(
  deps: RouteDeps,
  request: ApiRequest,
  written: Written<Webhook>,
  with_secret = false,
): Promise<Answer> {
  const { value } = written;
  const headers = await awaitProjection(deps, request, value.store_id, written);
  const secret = with_secret ? { secret: value.secrets[0]?.value } : {};
  return { data: { ...webhookResource(value), ...secret } as JsonObject, version: value.version, headers };
}

/** Returns a secret in the form of Standard Webhooks 1.0. */
const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
