import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { StoreId, WebhookId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { resourceOf } from '../fields';

/** A kind of change that a webhook sends, or only its changes of one of the fields. */
const wantedSchema = z.object({ type: z.string(), fields: z.array(z.string()).exactOptional() });

const configuration = {
  url: z.string(),
  description: z.string().nullable(),
  /** Empty: every change. */
  events: z.array(wantedSchema),
};

/** An attempt to deliver a change or a ping, as it is shown. */
const attemptSchema = z.object({
  /** The `webhook-id`: the id of the change. */
  id: z.string(),
  type: z.string(),
  resource_id: z.string(),
  /** From 1. */
  attempt: z.int(),
  at: z.string(),
  duration_ms: z.number(),
  response_status: z.int().nullable(),
  error: z.string().nullable(),
  /** Null if it was delivered, or if it is not tried again. */
  next_attempt_at: z.string().nullable(),
});
export type Attempt = z.infer<typeof attemptSchema>;

/** A message that is still to be delivered: a ping, or a change that failed or waits for an earlier one of its stream. */
const pendingSchema = z.object({
  id: z.string(),
  /** The category and id of the stream whose event is the change, such as `publication-<id>`. Null for a ping. */
  stream: z.string().nullable(),
  revision: z.int(),
  attempts: z.int(),
  due_at: z.string(),
});
export type PendingMessage = z.infer<typeof pendingSchema>;

const stopSchema = z.object({ status: z.enum(['paused', 'disabled']), reason: z.string() });

export const webhookEvents = [
  /** `after`: the offset after which changes are sent. */
  defineEvent(
    'WebhookCreated',
    z.object({ store_id: z.string(), ...configuration, secret: z.string(), after: z.string() }),
  ),
  defineEvent(
    'WebhookUpdated',
    z.object({ ...configuration, status: z.enum(['active', 'paused']) }).partial(),
  ),
  /** The earlier secret signs, too, until `previous_until`. */
  defineEvent('WebhookSecretRotated', z.object({ secret: z.string(), previous_until: z.string() })),
  defineEvent('WebhookPinged', z.object({})),
  defineEvent('WebhookReplayed', z.object({ after: z.string() })),
  /** The result of a round of deliveries. `settled`: the pending messages that are delivered or not wanted any more. */
  defineEvent(
    'WebhookDelivered',
    z.object({
      after: z.string().nullable(),
      attempts: z.array(attemptSchema),
      pending: z.array(pendingSchema),
      settled: z.array(z.string()),
    }),
  ),
  defineEvent('WebhookStopped', stopSchema),
  defineEvent('WebhookDeleted', z.object({})),
] as const;

export type WebhookEvent = EventOf<typeof webhookEvents>;
type DataOf<Type extends WebhookEvent['type']> = Extract<WebhookEvent, { type: Type }>['data'];
type Delivered = DataOf<'WebhookDelivered'>;
export type WebhookFields = DataOf<'WebhookCreated'>;

/** How many attempts a webhook shows. */
const ATTEMPTS_SHOWN_MAX = 100;

/** A webhook: the state that its events fold to. */
export interface Webhook extends Omit<WebhookFields, 'store_id' | 'secret'> {
  readonly id: WebhookId;
  readonly store_id: StoreId;
  /** `disabled`: the receiver has answered 410. */
  readonly status: 'active' | 'paused' | 'disabled';
  readonly status_reason: string | null;
  /** The newest secret comes first. */
  readonly secrets: readonly { readonly value: string; readonly until: string | null }[];
  /** The messages of a stream are in the order of its events. At most one message is a ping. */
  readonly pending: readonly PendingMessage[];
  /** The newest attempt comes last. */
  readonly attempts: readonly Attempt[];
  /** Grows with each update and replay. A round of an earlier generation only says what was delivered. */
  readonly generation: number;
  /** Number of events so far, except deliveries. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

function evolve(
  state: State<Webhook>,
  event: WebhookEvent,
  id: WebhookId,
  occurred_at: string,
): State<Webhook> {
  if (event.type === 'WebhookCreated') {
    const { secret, store_id, ...fields } = event.data;
    return present({
      ...fields,
      id,
      store_id: store_id as StoreId,
      status: 'active',
      status_reason: null,
      secrets: [{ value: secret, until: null }],
      pending: [],
      attempts: [],
      generation: 0,
      version: 1,
      created_at: occurred_at,
      updated_at: occurred_at,
    });
  }
  if (state.tag !== 'present') return state;
  const before = state.resource;
  const changed = (values: Partial<Webhook>) =>
    present({ ...before, ...values, version: before.version + 1, updated_at: occurred_at });
  switch (event.type) {
    case 'WebhookUpdated': {
      // A webhook that is active again tries everything again.
      const due = before.pending.map((message) => ({ ...message, attempts: 0, due_at: occurred_at }));
      const { status } = event.data;
      return changed({
        ...(event.data as Partial<Webhook>),
        generation: before.generation + 1,
        ...(status && { status_reason: null }),
        ...(status === 'active' && { pending: due }),
      });
    }
    case 'WebhookSecretRotated': {
      const { secret, previous_until } = event.data;
      const previous = before.secrets.slice(0, 1).map(({ value }) => ({ value, until: previous_until }));
      return changed({ secrets: [{ value: secret, until: null }, ...previous] });
    }
    case 'WebhookPinged': {
      const ping_id = `ping-${id}-${before.version + 1}`;
      const ping = { id: ping_id, stream: null, revision: 0, attempts: 0, due_at: occurred_at };
      return changed({ pending: [...before.pending.filter(({ stream }) => stream !== null), ping] });
    }
    case 'WebhookReplayed':
      return changed({ after: event.data.after, pending: [], generation: before.generation + 1 });
    case 'WebhookDelivered':
      return present({ ...before, ...afterDelivery(before, event.data) });
    case 'WebhookStopped':
      return changed({ status: event.data.status, status_reason: event.data.reason });
    case 'WebhookDeleted':
      return { tag: 'deleted', store_id: before.store_id };
    default:
      return assertNever(event, 'webhook event');
  }
}

function afterDelivery(before: Webhook, { after, attempts, pending, settled }: Delivered): Partial<Webhook> {
  const messages = new Map(before.pending.map((message) => [message.id, message]));
  for (const id of settled) messages.delete(id);
  for (const message of pending) messages.set(message.id, message);
  return {
    // Offsets sort as text.
    after: after !== null && after > before.after ? after : before.after,
    pending: [...messages.values()],
    attempts: [...before.attempts, ...attempts].slice(-ATTEMPTS_SHOWN_MAX),
  };
}

/** The result of a round of deliveries. */
export interface Round extends Delivered {
  /** The generation of the webhook when the round began. */
  readonly generation: number;
  readonly stop?: z.infer<typeof stopSchema> | undefined;
}

export type WebhookCommand =
  | { readonly type: 'Create'; readonly webhook: WebhookFields }
  | { readonly type: 'Update'; readonly changes: DataOf<'WebhookUpdated'> }
  | { readonly type: 'RotateSecret'; readonly secret: string; readonly previous_until: string }
  | { readonly type: 'Ping' }
  | { readonly type: 'Replay'; readonly after: string }
  /** Ignored if the webhook does not exist any more. */
  | { readonly type: 'Record'; readonly round: Round }
  | { readonly type: 'Delete' };

function decide(state: State<Webhook>, command: WebhookCommand): Decision<WebhookEvent> {
  if (command.type === 'Create')
    return state.tag === 'absent'
      ? accept({ type: 'WebhookCreated', data: command.webhook })
      : reject('lost_race');
  if (command.type === 'Record' && state.tag !== 'present') return accept();
  if (state.tag !== 'present') return reject('webhook_not_found');
  const before = state.resource;
  switch (command.type) {
    case 'Update': {
      const { store_id: _, ...sent } = command.changes as DataOf<'WebhookUpdated'> & { store_id?: string };
      const names = (Object.keys(sent) as (keyof typeof sent)[]).filter(
        (name) => sent[name] !== undefined && !isSameValue(sent[name], before[name]),
      );
      if (names.length === 0) return accept();
      return accept({
        type: 'WebhookUpdated',
        data: Object.fromEntries(names.map((name) => [name, sent[name]])),
      });
    }
    case 'RotateSecret': {
      const { secret, previous_until } = command;
      return accept({ type: 'WebhookSecretRotated', data: { secret, previous_until } });
    }
    case 'Ping':
      return accept({ type: 'WebhookPinged', data: {} });
    case 'Replay':
      return accept({ type: 'WebhookReplayed', data: { after: command.after } });
    case 'Record': {
      const { generation, stop, ...round } = command.round;
      // Messages that were not delivered are pending as before, or their changes are read again.
      if (generation !== before.generation)
        return accept({ type: 'WebhookDelivered', data: { ...round, after: null, pending: [] } });
      return accept(
        { type: 'WebhookDelivered', data: round },
        ...(stop && before.status === 'active' ? [{ type: 'WebhookStopped', data: stop } as const] : []),
      );
    }
    case 'Delete':
      return accept({ type: 'WebhookDeleted', data: {} });
    default:
      return assertNever(command, 'webhook command');
  }
}

export const webhookAggregate: Aggregate<Webhook, WebhookEvent, WebhookId, WebhookCommand> = {
  category: 'webhook',
  events: webhookEvents,
  state_version: 1,
  not_found: 'webhook_not_found',
  evolve,
  decide,
  owner: ({ store_id }) => ({ store_id }),
};

const RESPONSE_NAMES = ['url', 'description', 'events', 'status', 'status_reason', 'after', 'pending_count'];

/** Returns the resource, without its secrets. */
export function webhookResource(webhook: Webhook): JsonObject {
  const shown = { ...webhook, pending_count: webhook.pending.length };
  return resourceOf('webhook', RESPONSE_NAMES, shown);
}
