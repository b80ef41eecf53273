import { type Category, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import {
  type Attempt,
  type PendingMessage,
  type Round,
  type Webhook,
  type WebhookCommand,
  webhookAggregate,
} from '../../shared/catalog/webhook/webhook';
import type { AddressRule } from '../../shared/http/outgoing';
import { backoff, pause, Semaphore } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import type { WebhookId } from '../../shared/kernel/ids';
import { type Logger, logBackgroundFailure } from '../../shared/kernel/log';
import { timestamp } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import { markOf, offsetOf, type Place } from '../../shared/ports/log-offset';
import { load, streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { execute, type StoreDeps, type WriteContext } from '../command/execute';
import {
  ChangeCollector,
  type Entry,
  type Filter,
  isSameWrite,
  isWanted,
  withKeyNames,
} from '../query/change-collector';
import { Feed } from '../query/feed';
import { holdLiveChanges, type LiveChanges } from '../query/live-changes';
import { type Message, type Response, send } from './send';

export interface SenderParts extends StoreDeps {
  readonly views: { readonly control: ActiveView };
  readonly log: Logger;
  readonly config: Pick<Config, 'WEBHOOKS'>;
}

export const TIMES = {
  /** Times between the attempts to deliver a message: 5 s, 5 min, 30 min and then hours, as Standard Webhooks 1.0 says. */
  retries_ms: [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1_000),
  /** Time between two searches for webhooks. */
  search_ms: 1_000,
  /** How long a sender sleeps at most. */
  idle_ms: 30_000,
  /** How old the stored offset of a webhook that has nothing to send may be. */
  save_ms: 3_600_000,
};

/** Concurrent requests of a webhook. */
const CONCURRENCY = 10;
/** A webhook with so many pending messages reads no further changes. */
const PENDING_MAX = 500;
/** A round records so many attempts that succeeded. */
const RECORDED_MAX = 20;
/** More events than a write appends to update a resource. */
const WRITE_EVENTS_MAX = 32;
const RETRY_AFTER_MAX_MS = 86_400_000;
/** The receiver wants no further messages. */
const GONE = 410;
const failurePauseMs = backoff(100, 10_000);

/** What came of a message. `response` is undefined if it was not sent, because it waits or the service stops. */
interface Sent {
  readonly message: Message;
  readonly stream: string | null;
  readonly revision: number;
  /** Number of attempts so far, also of this one. */
  readonly attempts: number;
  readonly at: string;
  readonly duration_ms: number;
  readonly response: Response | undefined;
}

/**
 * Sends the changes of a store to a webhook while it is active. Two loops do this: one follows the changes, the other one
 * repeats what has failed. A message that fails holds up only the later ones of its stream. Each round is recorded as one
 * event in the stream of the webhook. After a crash, the messages of the last round are sent again, with the same ids.
 */
export class Sender {
  private readonly ref;
  private readonly context: WriteContext;
  private readonly slots = new Semaphore(CONCURRENCY);
  /** Where the feed is read next. Later than the stored `after` if nothing was to be sent since. */
  private reached: { readonly generation: number; readonly place: Place } | undefined;
  /** Aborts when the webhook is no longer active, to end both loops. */
  private readonly inactive = new AbortController();
  /** Ends the loops: no further message is sent. */
  private readonly ended: AbortSignal;
  private saved_ms = performance.now();

  constructor(
    private readonly parts: SenderParts,
    private readonly environment: Environment,
    id: WebhookId,
    private readonly store_id: string,
    private readonly times: typeof TIMES,
    stopping: AbortSignal,
    /** Ends the requests. */
    private readonly killing: AbortSignal,
  ) {
    this.ref = streamIn(parts, environment, webhookAggregate, id);
    this.context = { source: 'system', request_id: `webhook-${id}` };
    this.ended = AbortSignal.any([stopping, this.inactive.signal]);
  }

  /** Resolves when the webhook is no longer active, or when `stopping` aborts. Never throws. */
  async run(): Promise<void> {
    const own = streamNameOf(this.ref);
    const deps = { control_view: this.parts.views.control };
    const { changes, release } = holdLiveChanges(deps, this.ref.events, this.store_id, own);
    try {
      await Promise.all([
        this.repeat(
          (webhook) => this.follow(webhook, changes),
          (seen) => changes.next([this.store_id, own], seen, this.times.idle_ms, this.ended),
          changes,
        ),
        this.repeat(
          (webhook) => this.retry(webhook),
          (seen, webhook) => changes.next([own], seen, this.untilDueMs(webhook), this.ended),
          changes,
        ),
      ]);
    } finally {
      release();
    }
  }

  /** Records what `work` does, until the webhook is no longer active. If it does nothing, calls `rest`. */
  private async repeat(
    work: (webhook: Webhook) => Promise<Round | undefined>,
    rest: (seen: number, webhook: Webhook) => Promise<void>,
    changes: LiveChanges,
  ): Promise<void> {
    for (let failures = 0; !this.ended.aborted; ) {
      try {
        const { seen } = changes;
        const { state } = await load<Webhook>(this.ref);
        if (state.tag !== 'present' || state.resource.status !== 'active') return this.inactive.abort();
        const webhook = state.resource;
        const round = await work(webhook).catch((error: unknown) => stopOfOtherLog(webhook, error));
        if (round) await this.record(round);
        else await rest(seen, webhook);
        failures = 0;
      } catch (error) {
        this.log(error);
        await pause(failurePauseMs(++failures), this.ended);
      }
    }
  }

  private log(error: unknown): void {
    const fields = { webhook_id: this.ref.id };
    logBackgroundFailure(this.parts.log, error, 'sending to a webhook failed; retrying', fields);
  }

  private untilDueMs({ pending }: Webhook): number {
    const due = firstOfStreams(pending).map(({ due_at }) => Date.parse(due_at) - this.parts.system.now());
    return Math.max(10, Math.min(this.times.idle_ms, ...due));
  }

  // --- The two loops ---

  /** Sends the next changes. Those of a stream with pending messages become pending, too. */
  private async follow(webhook: Webhook, changes: LiveChanges): Promise<Round | undefined> {
    if (webhook.pending.length >= PENDING_MAX) return undefined;
    const { after, generation } = webhook;
    const events = this.parts.events[this.environment];
    const place = this.reached?.generation === generation ? this.reached.place : await markOf(events, after);
    const filter = this.filterOf(webhook);
    const feed = new Feed({ control_view: this.parts.views.control }, events, filter);
    const { page } = await feed.readShared(place, changes);
    const { entries, next, is_up_to_date } = page;
    const held = new Set(webhook.pending.map(({ stream }) => stream));
    const streams = [...new Set(entries.map(streamOf))];
    const sent = await Promise.all(
      streams.map((stream) => {
        const own = entries.filter((change) => streamOf(change) === stream);
        return this.slots.run(() => this.sendInOrder(webhook, stream, own, held.has(stream)));
      }),
    );
    this.reached = { generation, place: next };
    const must_save = performance.now() - this.saved_ms > this.times.save_ms;
    if (entries.length === 0 && is_up_to_date && !must_save) return undefined;
    this.saved_ms = performance.now();
    return this.roundOf(webhook, sent.flat(), offsetOf(next));
  }

  private async sendInOrder(
    webhook: Webhook,
    stream: string,
    changes: readonly Entry[],
    is_held: boolean,
  ): Promise<Sent[]> {
    const sent: Sent[] = [];
    for (const change of changes) {
      const waits = is_held || sent.some(({ response }) => response?.error !== null);
      const origin = { stream, revision: change.revision - 1, attempts: 0 };
      sent.push(await this.send(webhook, messageOf(change), origin, waits));
    }
    return sent;
  }

  /** Repeats what is due: the first message of each stream. */
  private async retry(webhook: Webhook): Promise<Round | undefined> {
    const now = timestamp(this.parts.system.now());
    const due = firstOfStreams(webhook.pending).filter(({ due_at }) => due_at <= now);
    if (due.length === 0) return undefined;
    const read = await Promise.all(
      due.slice(0, CONCURRENCY).map(async (pending) => ({
        pending,
        message: await this.readMessage(webhook, pending),
      })),
    );
    const sent = await Promise.all(
      read.flatMap(({ pending, message }) =>
        message ? this.slots.run(() => this.send(webhook, message, pending)) : [],
      ),
    );
    const not_wanted = read.flatMap(({ pending, message }) => (message ? [] : pending.id));
    return this.roundOf(webhook, sent, null, not_wanted);
  }

  /** Returns a pending message, undefined if the webhook does not want it any more. */
  private async readMessage(
    webhook: Webhook,
    { id, stream, revision }: PendingMessage,
  ): Promise<Message | undefined> {
    if (stream === null) {
      const { id: webhook_id, store_id } = webhook;
      const happened = { resource_id: webhook_id, timestamp: timestamp(this.parts.system.now()) };
      return { id, type: 'webhook.ping', ...happened, data: { webhook_id, store_id } };
    }
    const events = this.parts.events[this.environment];
    const collector = new ChangeCollector(events, this.filterOf(webhook));
    const from = Math.max(0, revision + 1 - WRITE_EVENTS_MAX);
    const recorded = await events.readStream(nameOf(this.environment, stream), from, revision + 1 - from);
    const is_there = recorded.at(-1)?.revision === revision;
    // The other events of the write are parts of the change.
    const before = recorded.findLastIndex((event, n) => n > 0 && !isSameWrite(recorded[n - 1], event));
    for (const event of is_there ? recorded.slice(Math.max(0, before)) : []) await collector.add(event);
    const changes = collector.takeEntries().slice(-1);
    const [change] = await withKeyNames({ control_view: this.parts.views.control }, changes);
    // A log that was moved has other ids.
    return change && { ...messageOf(change), id };
  }

  private filterOf({ store_id, events }: Webhook): Filter {
    const wants = (change: Entry): boolean =>
      events.length === 0 || events.some(({ type, fields }) => isWanted(change, { type: [type], fields }));
    return { store_id, key: JSON.stringify(events), wants };
  }

  /** Sends a message, unless it must wait or the loops end. Never throws. */
  private async send(
    webhook: Webhook,
    message: Message,
    { stream, revision, attempts }: Pick<Sent, 'stream' | 'revision' | 'attempts'>,
    waits = false,
  ): Promise<Sent> {
    const now_ms = this.parts.system.now();
    const began_ms = performance.now();
    const unsent = {
      ...{ message, stream, revision, attempts },
      at: timestamp(now_ms),
      duration_ms: 0,
      response: undefined,
    };
    if (waits || this.ended.aborted) return unsent;
    const rule: AddressRule = { allow_private: this.parts.config.WEBHOOKS === 'private' };
    try {
      const response = await send(webhook, message, rule, now_ms, this.killing);
      const duration_ms = Math.round(performance.now() - began_ms);
      if (response.status === GONE) this.inactive.abort();
      return { ...unsent, attempts: attempts + 1, duration_ms, response };
    } catch (error) {
      // A stop interrupts requests. Every other error is one that `send` should have returned.
      if (!this.killing.aborted)
        this.parts.log.error(
          { webhook_id: webhook.id, err: error },
          'a message of a webhook could not be sent',
        );
      return unsent;
    }
  }

  // --- Recording ---

  private roundOf(
    webhook: Webhook,
    sent: readonly Sent[],
    after: string | null,
    not_wanted: readonly string[] = [],
  ): Round {
    const was_pending = new Set(webhook.pending.map(({ id }) => id));
    const isDelivered = ({ response }: Sent): boolean => response?.error === null;
    const delivered = sent.filter(isDelivered);
    const others = sent.filter((one) => !isDelivered(one));
    const recorded = [...delivered.slice(-RECORDED_MAX), ...others.filter(({ response }) => response)];
    return {
      ...{ generation: webhook.generation, after },
      attempts: recorded.map((one) => this.attemptOf(one)),
      pending: others.flatMap((one) => this.pendingOf(one)),
      settled: [
        ...not_wanted,
        ...sent
          .filter((one) => isDelivered(one) || isSentPing(one))
          .map(({ message }) => message.id)
          .filter((id) => was_pending.has(id)),
      ],
      stop: this.stopOf(others),
    };
  }

  private attemptOf(one: Sent): Attempt {
    const { message, attempts, at, duration_ms, response } = one;
    const { id, type, resource_id } = message;
    const { status = null, error = null } = response ?? {};
    const [next] = error === null ? [] : this.pendingOf(one);
    const next_attempt_at = this.stopOf([one]) ? null : (next?.due_at ?? null);
    return {
      ...{ id, type, resource_id, attempt: attempts, at, duration_ms },
      ...{ response_status: status, error, next_attempt_at },
    };
  }

  private pendingOf(one: Sent): PendingMessage[] {
    if (isSentPing(one)) return [];
    const { message, stream, revision, attempts, at, response } = one;
    const delay_ms = Math.max(
      response ? (this.times.retries_ms[attempts - 1] ?? 0) : 0,
      Math.min(response?.retry_after_ms ?? 0, RETRY_AFTER_MAX_MS),
    );
    const due_at = timestamp(Date.parse(at) + delay_ms);
    return [{ id: message.id, stream, revision, attempts, due_at }];
  }

  /** Returns why the webhook stops after these messages, undefined if it does not. */
  private stopOf(failed: readonly Sent[]): Round['stop'] {
    const refused = failed.find(({ response }) => response?.status === GONE);
    if (refused) return { status: 'disabled', reason: 'status 410' };
    const last = failed.find((one) => one.attempts > this.times.retries_ms.length && !isSentPing(one));
    return last && { status: 'paused', reason: last.response?.error ?? '' };
  }

  /** Records a round. While the log cannot be written, waits: otherwise everything would be sent again. */
  private async record(round: Round): Promise<void> {
    const command: WebhookCommand = { type: 'Record', round };
    const write = { ...this.ref, context: this.context, prepare: () => ({ command }) };
    for (let failures = 1; ; failures++) {
      try {
        const { value } = await execute<Webhook, WebhookCommand>(write);
        if (round.stop && value.tag === 'present' && value.resource.status === round.stop.status)
          this.parts.log.warn({ webhook_id: this.ref.id, ...round.stop }, 'a webhook is no longer active');
        return;
      } catch (error) {
        if (this.killing.aborted) throw error;
        this.log(error);
        await pause(failurePauseMs(failures), this.killing);
      }
    }
  }
}

/** Returns the round that pauses a webhook whose offset is of another log. Throws any other error. */
function stopOfOtherLog({ generation }: Webhook, error: unknown): Round {
  if (!(error instanceof CatalogError) || error.condition !== 'offset_of_other_log') throw error;
  const stop = { status: 'paused', reason: 'The log is another one: start with a replay' } as const;
  return { generation, after: null, attempts: [], pending: [], settled: [], stop };
}

function messageOf(change: Entry): Message {
  const { id, type, resource_id, occurred_at } = change;
  return { id, type, resource_id, timestamp: occurred_at, data: change };
}

/** Returns the category and id of the stream of a change. */
const streamOf = ({ resource, resource_id, publication_id }: Entry): string =>
  publication_id === undefined ? `${resource}-${resource_id}` : `publication-${publication_id}`;

function nameOf(environment: Environment, stream: string): StreamName {
  const at = stream.indexOf('-');
  return streamName(environment, stream.slice(0, at) as Category, stream.slice(at + 1));
}

/** A ping is sent once. */
const isSentPing = ({ stream, response }: Sent): boolean => stream === null && response !== undefined;

/** Returns the first pending message of each stream. Each ping is one of its own. */
function firstOfStreams(pending: readonly PendingMessage[]): PendingMessage[] {
  const firsts = new Map<string, PendingMessage>();
  for (const message of pending) {
    const key = message.stream ?? message.id;
    if (!firsts.has(key)) firsts.set(key, message);
  }
  return [...firsts.values()];
}
