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
import { DamagedFileError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter } from '../../shared/ports/view-store';

/** How long the first tokens that a process checks wait until it has read the changes from before its start. */
const READY_MS = 5_000;
const PRUNE_EVERY_MS = 60_000;
/** The most events of a dead letter in memory at once. */
const DEAD_LETTER_PAGE = 500;
const retryMs = backoff(100, 1_000);
/** The event type that is skipped: it does not change which tokens are valid, and is far more frequent than others. */
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
 * Keeps the changes in memory that the documents may not contain yet: it starts at their checkpoints and with the events of
 * dead letters, and drops changes that the documents contain.
 *
 * While the event store cannot be reached, no change is added, and the documents alone decide which tokens are valid.
 */
export class ControlLog implements ControlChanges {
  readonly api_keys = new Map<string, LoggedChange<ApiKeyEvent>[]>();
  readonly accounts = new Map<string, LoggedChange<AccountEvent>[]>();
  readonly key_ids = new Map<string, string>();
  readonly ready: Promise<void>;
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private reportCaughtUp: () => void = () => {};
  private pruned_at_ms = performance.now();
  /** The documents contained everything up to this position at the last `prune`. */
  private contained: Position = START;

  /** Starts to follow the log, in the background. */
  constructor(private readonly parts: ControlLogParts) {
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
    let warned: string | undefined;
    for (let failures = 0; !signal.aborted; await pause(retryMs(failures), signal)) {
      failures++;
      try {
        const { checkpoint, dead_letters } = await this.readProgress();
        for (const dead_letter of dead_letters) await this.takeDeadLetter(dead_letter);
        // The subscription does not start just before the first dead letter: a log knows only the positions of its events.
        for await (const batch of events.subscribe({ after: checkpoint, signal })) {
          for (const event of batch.events) this.take(event);
          if (batch.caught_up) this.reportCaughtUp();
          await this.prune();
          failures = 0;
          warned = undefined;
        }
      } catch (error) {
        const { name } = error as Error;
        // A damaged file is logged once by its store.
        const level = error instanceof DamagedFileError || warned === name ? 'debug' : 'warn';
        warned = name;
        log[level]({ err: error }, 'cannot follow the changes of accounts and API keys; retrying');
      }
    }
  }

  /** Takes the events of a stream that its document lacks. The subscription yields the events after the checkpoint again. */
  private async takeDeadLetter({ stream, revision }: DeadLetter): Promise<void> {
    for (let from = revision, read = DEAD_LETTER_PAGE; read === DEAD_LETTER_PAGE; from += read) {
      if (this.stopping.signal.aborted) return;
      const page = await this.parts.events.readStream(stream, from, DEAD_LETTER_PAGE);
      for (const event of page) this.take(event);
      read = page.length;
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
   * Returns a position up to which the documents contain every event. It may be between two events of the log, so nothing
   * can be read from it.
   */
  private async containedPosition(): Promise<Position> {
    const { checkpoint, dead_letters } = await this.readProgress();
    return least([checkpoint, ...dead_letters.map(({ position }) => position - 1n)]);
  }

  /**
   * Returns the least checkpoint of the documents, and their dead letters: events that the documents do not contain,
   * although the checkpoint may be after them.
   */
  private async readProgress(): Promise<{ checkpoint: Position; dead_letters: readonly DeadLetter[] }> {
    const view = await this.parts.control_view.current();
    if (!view) return { checkpoint: START, dead_letters: [] };
    const checkpoint = least(await view.checkpoints());
    // Read after the checkpoint, so that the list has every dead letter up to there.
    return { checkpoint, dead_letters: await view.deadLetters() };
  }
}

/** Adds a change to the changes of its stream, unless it is already there: a subscription may start again before it. */
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
