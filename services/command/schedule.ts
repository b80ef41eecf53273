import type { CollectionName, DocumentOf } from '../../shared/catalog/documents';
import type { State } from '../../shared/catalog/events/aggregate';
import { type Listing, type ListingCommand, listingAggregate } from '../../shared/catalog/listing/listing';
import {
  type Publication,
  type PublicationCommand,
  publicationAggregate,
} from '../../shared/catalog/publication/publication';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { dueChanges } from '../../shared/catalog/schedule';
import type { SortOrder } from '../../shared/catalog/sorting';
import { pause } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { ListingId, PublicationId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import { timestamp } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import { type Loaded, streamIn } from '../../shared/ports/stream-state';
import { execute, type StoreDeps, type WriteContext } from './execute';
import { PriceRulesUpdate } from './price-rules';

interface ScheduleParts extends StoreDeps {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly log: Logger;
}

export interface Schedule {
  stop(): Promise<void>;
}

/** Time between two rounds. With the append and its projection, a change is visible within a second. */
const EVERY_MS = 500;
/** Concurrent writes, which share commits of the log. */
const PAGE_SIZE = 100;
const OLDEST_FIRST: SortOrder = [
  ['due_at', 'asc'],
  ['id', 'asc'],
];

/**
 * Starts the work that time causes, in the background: publishes and unpublishes publications and listings, updates the prices
 * in the documents of publications whose sale begins or ends, and gives publications the price rules of their store. What was
 * due before the start is done in the first round. Any number of processes may run it: each decides by the stream of the
 * resource and appends at the revision that it has read, so only one of them changes it.
 */
export function startSchedule(parts: ScheduleParts): Schedule {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (environment: Environment): Promise<void> => {
    const due = new DueResources(parts, environment);
    const rules = new PriceRulesUpdate(parts, environment, due.attempt);
    const updateRules = async (): Promise<void> => {
      while (!signal.aborted) if (!(await rules.round(signal))) await pause(EVERY_MS, signal);
    };
    const updated = updateRules();
    for (; !signal.aborted; await pause(EVERY_MS, signal)) await due.round(signal);
    await updated;
  };
  const ended = Promise.all(ENVIRONMENTS.map(run));
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** The resources of an environment whose time has come, according to their documents. */
class DueResources {
  /** What has failed unexpectedly, to log each failure once. */
  private readonly failing = new Set<string>();

  constructor(
    private readonly parts: ScheduleParts,
    private readonly environment: Environment,
  ) {}

  /** Changes all of them. Never throws: the next round repeats what has failed. */
  async round(signal: AbortSignal): Promise<void> {
    await this.roundOf('listings', signal, (id) => this.changeListing(id as ListingId));
    await this.roundOf('publications', signal, (id, document) =>
      this.changePublication(id as PublicationId, document.state.revision),
    );
  }

  private async roundOf<Name extends CollectionName & ('listings' | 'publications')>(
    collection: Name,
    signal: AbortSignal,
    change: (id: string, document: DocumentOf<Name>) => Promise<void>,
  ): Promise<void> {
    const { views, system } = this.parts;
    await this.attempt(`reading ${collection}`, async () => {
      const view = await views[this.environment].current();
      const where = { due_at: { lte: system.now() } };
      const query = { where, order: OLDEST_FIRST, limit: PAGE_SIZE, parts: ['state'] as const };
      // Skips what the round has changed and what cannot be changed. If it skips others, too, because the documents of
      // the first ones are up to date already, the next round finds them.
      for (let skip = 0; view && !signal.aborted; skip += PAGE_SIZE) {
        const page = await view.find(collection, { ...query, skip });
        await Promise.all(
          page.map(({ id, document }) => document && this.attempt(id, () => change(id, document))),
        );
        if (page.length < PAGE_SIZE) return;
      }
    });
  }

  /** `projected`: the revision of the last event that is in the document. */
  private async changePublication(id: PublicationId, projected: number): Promise<void> {
    const ref = streamIn(this.parts, this.environment, publicationAggregate, id);
    const prepare = (state: State<Publication>, { revision }: Loaded<Publication>) => {
      const update = this.updateOf(state);
      const is_due = Object.keys(update.command.changes).length > 0 || state.tag !== 'present';
      // A sale begins or ends. Only an event lets the projection compute the prices again. An event that is not in the document
      // yet does so, too.
      if (is_due || revision !== projected) return update;
      return { command: { type: 'Interrupt', field: 'sale_price_amount' } as const };
    };
    await execute<Publication, PublicationCommand>({ ...ref, context: contextOf(id), prepare });
  }

  private async changeListing(id: ListingId): Promise<void> {
    const ref = streamIn(this.parts, this.environment, listingAggregate, id);
    const prepare = (state: State<Listing>) => this.updateOf(state);
    await execute<Listing, ListingCommand>({ ...ref, context: contextOf(id), prepare });
  }

  /** Returns the change that is due, none if the stream shows that another process or a client was faster. */
  private updateOf(state: State<Publication> | State<Listing>) {
    const now = timestamp(this.parts.system.now());
    const changes = state.tag === 'present' ? dueChanges(state.resource, now) : {};
    return { command: { type: 'Update', changes } as const };
  }

  /** Does the work. Logs a failure, and does not throw. */
  readonly attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      this.failing.delete(what);
    } catch (error) {
      // Expected: a store is unavailable, or the publication was deleted and its document is not up to date yet.
      const is_expected = error instanceof CatalogError;
      const level = is_expected || this.failing.has(what) ? 'debug' : 'error';
      if (!is_expected) this.failing.add(what);
      const { environment } = this;
      this.parts.log[level]({ environment, what, err: error }, 'a write on schedule failed; retrying');
    }
  };
}

const contextOf = (id: string): WriteContext => ({ source: 'schedule', request_id: `schedule-${id}` });
