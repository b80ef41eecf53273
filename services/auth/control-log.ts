import { type AccountEvent, accountAggregate } from '../../shared/catalog/account/account';
import { type ApiKeyEvent, apiKeyAggregate } from '../../shared/catalog/api-key/api-key';
import { decodeEvent } from '../../shared/catalog/events/codec';
import {
  type Position,
  parseStreamName,
  type RecordedEvent,
  START,
} from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import type { Change, ControlChanges } from '../../shared/http/auth';
import { backoff, pause, withTimeout } from '../../shared/kernel/async';
import { NeedsRepairError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';

/** How long the first tokens that a process checks wait until it has read the changes from before its start. */
const READY_MS = 5_000;
const PRUNE_EVERY_MS = 60_000;
const retryMs = backoff(100, 1_000);
/** Changes nothing that decides whether a token is valid, and is appended far more often than all other events. */
const IGNORED: RecordedEvent['type'] = 'ApiKeyUsed' satisfies ApiKeyEvent['type'];

export interface ControlLogParts {
  /** The log of the `control` realm. */
  readonly events: EventStore;
  /** The documents of the `control` realm. */
  readonly control_view: ActiveView;
  readonly log: Logger;
  /** How often changes are dropped that the documents contain; once a minute by default. */
  readonly prune_every_ms?: number;
}

/** A change, and the position that the documents must have reached to contain it. */
type LoggedChange<Event> = Change<Event> & { readonly position: Position };

/**
 * Follows the log of the `control` realm, so that a revocation reaches this process although no worker projects it
 * (docs/decisions/0019-every-process-follows-the-control-log.md).
 * Keeps in memory what the documents may not contain yet: it starts at their checkpoints, and drops changes that they
 * contain.
 *
 * While the event store cannot be reached, nothing is added; the documents alone decide then.
 */
export class ControlLog implements ControlChanges {
  readonly api_keys = new Map<string, LoggedChange<ApiKeyEvent>[]>();
  readonly accounts = new Map<string, LoggedChange<AccountEvent>[]>();
  readonly key_ids = new Map<string, string>();
  readonly ready: Promise<void>;
  private readonly parts: ControlLogParts;
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private reportCaughtUp: () => void = () => {};
  private pruned_at_ms = performance.now();
  /** The documents contained everything up to this position at the last `prune`. */
  private contained: Position = START;

  /** Starts to follow the log, in the background. */
  constructor(parts: ControlLogParts) {
    this.parts = parts;
    const caught_up = new Promise<void>((resolve) => {
      this.reportCaughtUp = resolve;
    });
    const unreachable = new Promise<unknown>((resolve) => parts.events.head().catch(resolve));
    const { signal } = this.stopping;
    this.ready = withTimeout(Promise.race([caught_up, unreachable]), READY_MS, () => {}, signal).then(
      () => {},
    );
    this.running = this.run();
  }

  /** Ends the subscription. Must be called before the stores are closed. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { events, log } = this.parts;
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted; await pause(retryMs(failures), signal)) {
      failures++;
      try {
        const after = await this.containedPosition();
        for await (const batch of events.subscribe({ after, signal })) {
          for (const event of batch.events) this.take(event);
          if (batch.caught_up) this.reportCaughtUp();
          await this.prune();
          failures = 0;
        }
      } catch (error) {
        // A damaged file is logged once by its store, and documents of another log by `LogMatch`.
        const level = error instanceof NeedsRepairError || failures > 1 ? 'debug' : 'warn';
        log[level]({ err: error }, 'cannot follow the changes of accounts and API keys; retrying');
      }
    }
  }

  private take(recorded: RecordedEvent): void {
    if (recorded.type === IGNORED) return;
    const stream = parseStreamName(recorded.stream);
    try {
      if (stream?.category === apiKeyAggregate.category) {
        const event = decodeEvent(recorded) as ApiKeyEvent;
        add(this.api_keys, stream.id, recorded, event);
        if (event.type === 'ApiKeyCreated') this.key_ids.set(event.data.key_hash, stream.id);
      } else if (stream?.category === accountAggregate.category) {
        add(this.accounts, stream.id, recorded, decodeEvent(recorded) as AccountEvent);
      }
    } catch (error) {
      const { stream, type } = recorded;
      this.parts.log.error({ err: error, stream, type }, 'cannot read a change of an account or API key');
    }
  }

  /**
   * Drops the changes that the documents contained at the last call. Reason for waiting until the next call: a document
   * that was read just before its change was projected may still be cached.
   */
  private async prune(): Promise<void> {
    const { prune_every_ms = PRUNE_EVERY_MS } = this.parts;
    if (performance.now() - this.pruned_at_ms < prune_every_ms) return;
    this.pruned_at_ms = performance.now();
    for (const changes of [this.api_keys, this.accounts])
      for (const [id, { length, [length - 1]: last }] of changes)
        if (last!.position <= this.contained) changes.delete(id);
    for (const [hash, id] of this.key_ids) if (!this.api_keys.has(id)) this.key_ids.delete(hash);
    // If the documents cannot be read, nothing is dropped next time.
    this.contained = await this.containedPosition().catch(() => START);
  }

  /**
   * Returns a position up to which the documents contain every event. Events of a stream in the dead-letter list are not
   * in its document, although the checkpoint is after them.
   */
  private async containedPosition(): Promise<Position> {
    const view = await this.parts.control_view.current();
    if (!view) return START;
    const [checkpoints, dead_letters] = await Promise.all([view.checkpoints(), view.deadLetters()]);
    return least([...checkpoints, ...dead_letters.map(({ position }) => position - 1n)]);
  }
}

/** Adds the change to those of its stream, unless it is already there: a subscription may start again before it. */
function add<Event>(
  changes: Map<string, LoggedChange<Event>[]>,
  id: string,
  { revision, position, metadata }: RecordedEvent,
  event: Event,
): void {
  const known = changes.get(id) ?? [];
  if ((known.at(-1)?.revision ?? -1) >= revision) return;
  changes.set(id, [...known, { event, revision, position, occurred_at: metadata.occurred_at }]);
}
