import { describeRejection, errorCatalogue } from '../../shared/api/error-catalogue';
import { UNDO_PREFIX } from '../../shared/api/headers';
import { type ChangedCategory, changingAggregate } from '../../shared/catalog/changes';
import { ABSENT, type State } from '../../shared/catalog/events/aggregate';
import {
  type EventMetadata,
  type Position,
  parseStreamName,
  type RecordedEvent,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import { type Changes, type Fields, isIdle } from '../../shared/catalog/fields';
import { mediaFields } from '../../shared/catalog/media/fields';
import { type Media, mediaAggregate } from '../../shared/catalog/media/media';
import type { Publication } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { type Review, reviewAggregate } from '../../shared/catalog/review/review';
import { storeFields } from '../../shared/catalog/store/fields';
import { type Store, storeAggregate } from '../../shared/catalog/store/store';
import { patchTo, type Translated, withTranslations } from '../../shared/catalog/translations';
import { endLongTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import { isUuid, type ListingId, type StoreId, timeOfId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { load, loadUpTo, type StreamRef, streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { dryRun } from './dry-run';
import { executeOn, type StoreDeps, type WriteContext, type Written } from './execute';
import { contentsOf, listings } from './listing';
import { runPool } from './pool';
import { publications } from './publication';
import { type ProjectionDeps, waitUntilProjected } from './request';
import { revertListingTo, revertTo } from './revert';

const CONCURRENCY = 20;
const PAGE_EVENTS = 512;
/** Events that do not count as a change since the run. */
const NO_CHANGES = ['PublicationViewed', 'EventSuperseded'];
/** Categories of streams that an undo does not change. */
const NOT_UNDONE = ['name', 'views', 'proposal'];
/** How much earlier than the time in the name of a run its first event may be, because the clocks of two machines differ. */
const SKEW_MS = 3_600_000;

/** What an undo has done, by number of resources. A dry run says what an undo would do. */
export interface UndoReport {
  /** Resources that the run created, and that are deleted now. */
  readonly deleted: number;
  /** Resources set back to their values from before the run. */
  readonly reverted: number;
  /** Resources that the run deleted, and that exist again. */
  readonly restored: number;
  /** Resources that stay as they are, or of which a part does, each with the reason. */
  readonly kept: readonly KeptResource[];
}

export interface KeptResource {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly reason: string;
}

export interface UndoneRun extends UndoReport {
  /** `false` if the undo was stopped. Another undo of the run does the rest. */
  readonly complete: boolean;
  /** The position of the last write, undefined if there was none. */
  readonly position: Position | undefined;
}

export type UndoDeps = StoreDeps & ProjectionDeps;

export interface Undo {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** `X-Catalog-Run` of the writes, or the id of an import. */
  readonly run: string;
  readonly dry_run: boolean;
  /** When it aborts, no further resource is undone, and the report has `complete: false`. */
  readonly signal: AbortSignal;
  readonly on_progress?: (done: number, total: number) => void;
  /** Throws if the caller may not undo changes of these kinds of resources. Called before the first write. */
  readonly assertKinds?: (kinds: ReadonlySet<string>) => void;
}

/** A resource that the run has changed, since the last undo of the run. */
interface ChangedResource {
  readonly stream: StreamName;
  readonly kind: string;
  readonly id: string;
  /** Its first event of the run. */
  readonly first: RecordedEvent;
}

/**
 * Undoes what a run has done to resources that nobody has changed since: deletes what the run created, restores what it
 * deleted, and sets the rest back. Returns undefined if the store has no such run. The events of the undo belong to the run
 * `undo-<run>`, so running it again undoes only the rest, and an undo can itself be undone. Throws `too_large` if the signal
 * aborts before the run was found in the log.
 */
export async function undoRun(
  runtime: UndoDeps,
  context: WriteContext,
  undo: Undo,
): Promise<UndoneRun | undefined> {
  const { environment, run, dry_run, signal } = undo;
  const changed = await findChanged(runtime, undo);
  if (changed === undefined) return undefined;
  undo.assertKinds?.(new Set(changed.map(({ kind }) => kind)));
  // An undo writes to a stream up to twice. Repeating it changes nothing, so it needs no operation.
  const { operation: _, ...requester } = context;
  const deps = dry_run ? dryRun(runtime, environment) : runtime;
  const undoing = new Undoing(deps, { ...requester, run: undoOf(run) }, environment, run);
  await undoing.countContents(runtime, undo.store_id, changed);
  let done = 0;
  const undoOne = async (resource: ChangedResource): Promise<void> => {
    await undoing.undo(resource);
    done++;
    undo.on_progress?.(done, changed.length);
  };
  // The translations of other resources need the locales of the store.
  const of_store = changed.filter(({ kind }) => kind === 'store');
  await runPool(of_store, 1, undoOne, signal);
  const of_listings = changed.filter(({ kind }) => kind === 'listing');
  const others = changed.filter(({ kind }) => kind !== 'listing' && kind !== 'store');
  await runPool(others, CONCURRENCY, undoOne, signal);
  // A listing can be deleted when it is empty, and one below another listing was mostly created after that.
  of_listings.sort((a, b) => (a.first.position < b.first.position ? 1 : -1));
  await runPool(of_listings, 1, undoOne, signal);
  return { ...undoing.report(), complete: done === changed.length };
}

const undoOf = (run: string): string => UNDO_PREFIX + run;

/** Returns 0 for an event of the run, 1 for one of its undo, 2 for one of the undo of that, and so on, -1 for others. */
function undosOf({ source, run: name, request_id }: EventMetadata, run: string): number {
  const names = [name, source === 'import' ? request_id : undefined];
  const undos = names.map((each) => {
    const before = each?.endsWith(run) ? each.slice(0, -run.length) : '-';
    const count = before.length / UNDO_PREFIX.length;
    return before === UNDO_PREFIX.repeat(Math.floor(count)) ? count : -1;
  });
  return Math.max(...undos);
}

/** Reads the log backwards. Returns undefined if the store has no event of the run. */
async function findChanged(
  { events }: StoreDeps,
  { environment, store_id, run, signal }: Undo,
): Promise<ChangedResource[] | undefined> {
  const log = events[environment];
  const not_before_ms = startOf(run) - SKEW_MS;
  /** Whether the last undo of the run, or of its undo, has undone the changes of the run. */
  const is_undone = new Map<StreamName, boolean>();
  const first = new Map<StreamName, RecordedEvent>();
  let is_known = false;
  const add = (event: RecordedEvent): void => {
    const { metadata, stream, type } = event;
    if (metadata.partition_key !== store_id) return;
    const undos = undosOf(metadata, run);
    const is_undo = undos % 2 === 1;
    if (undos > 0) {
      // A resource is restored before it is set back. If a crash came between them, the undo does the rest.
      const is_part = is_undo && type.endsWith('Restored');
      if (!is_part && !is_undone.has(stream)) is_undone.set(stream, is_undo);
    } else if (undos === 0) {
      is_known = true;
      if (!is_undone.get(stream)) first.set(stream, event);
    }
  };
  let before: Position | undefined;
  for (let is_over = false; !is_over; ) {
    await endLongTurn();
    if (signal.aborted) throw notFoundInTime();
    const page = await log.readBackwards(PAGE_EVENTS, before);
    for (const event of page) add(event);
    const oldest = page.at(-1);
    before = oldest?.position;
    is_over = !oldest || Date.parse(oldest.metadata.occurred_at) < not_before_ms;
  }
  const changed = [...first].flatMap(([stream, event]): ChangedResource[] => {
    const { category = 'name', id = '' } = parseStreamName(stream) ?? {};
    return NOT_UNDONE.includes(category) ? [] : [{ stream, kind: category, id, first: event }];
  });
  return is_known ? changed : undefined;
}

/** Returns when a run has begun, in Unix milliseconds: the time of the UUIDv7 at the end of its name, or else 0. */
function startOf(run: string): number {
  const id = run.slice(-36);
  return isUuid(id) && id[14] === '7' ? timeOfId(id) : 0;
}

const notFoundInTime = (): CatalogError =>
  new CatalogError('too_large', {
    message:
      'The log is too long to find the run in the time of a request. Use "catalog undo", and end the names of runs with a UUIDv7',
  });

/** An undo under way. */
class Undoing {
  private deleted = 0;
  private reverted = 0;
  private restored = 0;
  private readonly kept: KeptResource[] = [];
  private readonly positions: Position[] = [];
  /** How many publications and listings are in each listing that the run created. Undone ones do not count. */
  private readonly contents = new Map<string, number>();

  constructor(
    private readonly deps: StoreDeps,
    private readonly context: WriteContext,
    private readonly environment: Environment,
    private readonly run: string,
  ) {}

  report(): Omit<UndoneRun, 'complete'> {
    const { deleted, reverted, restored, kept, positions } = this;
    return {
      deleted,
      reverted,
      restored,
      kept,
      position: positions.length > 0 ? greatest(positions) : undefined,
    };
  }

  /** Fills `contents` from documents. Throws `unavailable` if the documents are not up to date. */
  async countContents(
    { events, views }: UndoDeps,
    store_id: StoreId,
    changed: readonly ChangedResource[],
  ): Promise<void> {
    const created = changed.filter(({ kind, first }) => kind === 'listing' && first.revision === 0);
    if (created.length === 0) return;
    const view = views[this.environment];
    const head = await events[this.environment].head();
    const version = await view.current();
    if (!version || !(await waitUntilProjected(view, store_id, head))) throw new CatalogError('unavailable');
    for (const { id } of created) {
      const { publications: inside, children } = await contentsOf(
        version.upToDate ?? version,
        id as ListingId,
      );
      this.contents.set(id, inside + children);
    }
  }

  /** Undoes the changes of a resource, or keeps it. */
  async undo({ kind, id, first }: ChangedResource): Promise<void> {
    const { environment, deps } = this;
    const events = deps.events[environment];
    const aggregate = changingAggregate(kind as ChangedCategory);
    const ref = { aggregate, events, realm: environment, id } as unknown as StreamRef<Stored>;
    const { state: now } = aggregate ? await load(ref) : { state: ABSENT };
    const keep = (reason: string): void => {
      this.kept.push({ kind, id, title: titleOf(now) ?? id, reason });
    };
    if (!aggregate) return keep(NO_WAY);
    const since = await events.readStream(streamNameOf(ref), first.revision);
    if (since.some((event) => this.isForeign(event))) return keep(CHANGED);
    const has_past = first.revision > 0;
    const { state: before } = has_past ? await loadUpTo(ref, first.revision - 1) : { state: ABSENT };
    const guard = (resource: object): void => {
      const { version } = resource as Stored;
      if (now.tag === 'present' && version !== now.resource.version) throw new CatalogError('lost_race');
    };
    try {
      const reason = await this.setBack(
        kind as ChangedCategory,
        // A later import may set the fields of an import again, because they were not changed by hand.
        first.metadata.source === 'import' ? { ...this.context, source: 'import' } : this.context,
        { environment, id: id as never, guard },
        before,
        now,
      );
      if (reason !== undefined) keep(reason);
      const is_undone = reason === undefined || reason === TRANSLATIONS_STAY;
      if (is_undone && now.tag === 'present') this.leave(now.resource);
    } catch (error) {
      if (!(error instanceof CatalogError) || errorCatalogue[error.condition].status >= 500) throw error;
      keep(error.condition === 'lost_race' ? CHANGED : describeRejection(error));
    }
  }

  /** Gives the resource the state from before the run. Returns why it has not, or not in all, undefined if it has. */
  private async setBack(
    kind: ChangedCategory,
    context: WriteContext,
    target: Target,
    before: State<Stored>,
    now: State<Stored>,
  ): Promise<string | undefined> {
    const { deps } = this;
    const way: Way = WAYS[kind];
    if (before.tag === 'present') {
      const resource = now.tag === 'absent' ? before.resource : now.resource;
      const setBack = async (to: Target) =>
        this.note(await way.setBack(deps, context, to, before.resource as never, resource as never));
      const whatStays = ({ value }: { readonly value: Stored }) => {
        // Handles stay, as `handle` does.
        const translations = patchTo(before.resource.translations, value.translations);
        const wanted = withTranslations({ translations }, value).translations ?? {};
        return isSameValue(wanted, value.translations ?? {}) ? undefined : TRANSLATIONS_STAY;
      };
      if (now.tag === 'present') {
        const written = await setBack(target);
        if (written.changed) this.reverted++;
        return whatStays(written);
      }
      if (!way.restore) return NO_WAY;
      this.note(await way.restore(deps, context, target));
      const written = await setBack({ ...target, guard: () => {} });
      this.restored++;
      return whatStays(written);
    }
    if (now.tag !== 'present') return undefined;
    // Pictures and reviews of an import stay. They are too many to list.
    if (!way.remove) return context.source === 'import' ? undefined : STAYS;
    if ((this.contents.get(target.id) ?? 0) > 0) return 'it contains what the run has not created';
    this.note(await way.remove(deps, context, target));
    this.deleted++;
    return undefined;
  }

  private note<Result extends { readonly position: Position; readonly changed: boolean }>(
    written: Result,
  ): Result {
    if (written.changed) this.positions.push(written.position);
    return written;
  }

  private isForeign(event: RecordedEvent): boolean {
    const { metadata, type } = event;
    const is_own = undosOf(metadata, this.run) >= 0;
    return !is_own && metadata.source !== 'system' && !NO_CHANGES.includes(type) && !isIdle(event);
  }

  /** Notes that listings of the run do not contain the resource any more. */
  private leave({ listing_id, listing_ids = [], parent_id }: Stored): void {
    for (const id of [listing_id, ...listing_ids, parent_id]) {
      const count = id && this.contents.get(id);
      if (count) this.contents.set(id, count - 1);
    }
  }
}

const CHANGED = 'changed since';
const NO_WAY = 'it cannot be undone';
const STAYS = 'it stays: delete it with a request of its own';
const TRANSLATIONS_STAY = 'translations in a language that the store no longer has stay as they are';

/** What an undo looks at in a resource of any kind. */
interface Stored extends Translated {
  readonly version: number;
  readonly title?: string | null;
  readonly name?: string;
  readonly listing_id?: string | null;
  readonly listing_ids?: readonly string[];
  readonly parent_id?: string | null;
}

const titleOf = (state: State<Stored>): string | undefined => {
  const { title, name } = (state.tag !== 'absent' && state.resource) || {};
  return title ?? name;
};

interface Target {
  readonly environment: Environment;
  readonly id: never;
  /** Throws `lost_race` if the resource has changed since it was examined. */
  readonly guard: (before: object) => void;
}

type Writing<Value = unknown> = Promise<Pick<Written<Value>, 'value' | 'position' | 'changed'>>;

/** How the changes of a kind of resource are undone. `before`: its state from before the run. `now`: its last known state. */
interface Way {
  setBack(deps: StoreDeps, context: WriteContext, target: Target, before: never, now: never): Writing<Stored>;
  readonly remove?: (deps: StoreDeps, context: WriteContext, target: Target) => Writing;
  readonly restore?: (deps: StoreDeps, context: WriteContext, target: Target) => Writing;
}

/** Returns the changes that set the fields back. */
function valuesOf<F extends object>(fields: F, before: Translated & object, now: Translated) {
  const values = { ...before, translations: patchTo(before.translations, now.translations) };
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in fields)) as Changes<F & Fields>;
}

const WAYS = {
  publication: {
    setBack: async (deps, context, target, before: Publication) =>
      (await revertTo(deps, context, target, async () => before)).written,
    remove: publications.remove,
    restore: publications.restore,
  },
  listing: { setBack: revertListingTo, remove: listings.remove, restore: listings.restore },
  store: {
    setBack: (deps, context, { environment, id, guard }, before: Store, now: Store) => {
      const markets = now.markets && (before.markets ?? []);
      const price_lists = now.price_lists && (before.price_lists ?? {});
      const changes = { ...valuesOf(storeFields, before, now), markets, price_lists };
      const command = { type: 'DescribeStore', changes } as const;
      return executeOn(streamIn(deps, environment, storeAggregate, id), context, command, guard);
    },
  },
  media: {
    setBack: (deps, context, { environment, id, guard }, before: Media, now: Media) => {
      const command = { type: 'Update', changes: valuesOf(mediaFields, before, now) } as const;
      return executeOn(streamIn(deps, environment, mediaAggregate, id), context, command, guard);
    },
  },
  review: {
    setBack: (deps, context, { environment, id, guard }, { status }: Review) => {
      const command = { type: 'Update', changes: { status } } as const;
      return executeOn(streamIn(deps, environment, reviewAggregate, id), context, command, guard);
    },
  },
} satisfies Record<ChangedCategory, Way>;
