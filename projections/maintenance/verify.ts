import { COLLECTION_NAMES, type CollectionName, type StoredDocument } from '../../shared/catalog/documents';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import { ALL_PARTS, type ViewStore, type ViewVersion } from '../../shared/ports/view-store';
import { RunningAlreadyError } from '../engine/errors';
import { leaseOwner, takeLease } from '../engine/lease';
import { fedVersions, SCRATCH_SCHEMA } from '../engine/versions';
import { type Difference, differencesOf } from './differences';
import { LogFold } from './log-fold';
import { type OnProgress, ProgressMeter } from './progress';

export interface VerifyOptions {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
  readonly on_progress?: OnProgress;
  readonly signal?: AbortSignal;
}

export interface VerifyResult {
  /** Every document was compared, and was as the log says; never after `signal`. */
  readonly clean: boolean;
  readonly version: number;
  /** How many were compared, deleted ones included, by collection. */
  readonly documents: Readonly<Partial<Record<CollectionName, number>>>;
  readonly events: number;
  /** At most 1,000; `truncated` where there are more. */
  readonly differences: readonly Difference[];
  readonly truncated: boolean;
  /** Documents that changed every time they were looked at: neither proven right nor wrong. */
  readonly undecided: number;
  readonly duration_ms: number;
}

const LEASE = 'verify';
const LEASE_TTL_MS = 15_000;
const PAGE = 500;
const DIFFERENCES_MAX = 1_000;
const ROUNDS_MAX = 100;
const PAUSE_MS_MAX = 10;

/** A document that was not the same on both sides: it is drift, or it was written between the two looks. */
interface Suspect {
  readonly collection: CollectionName;
  readonly id: string;
  /** Both sides' positions when it was looked at last. */
  readonly seen?: string;
}

/**
 * Folds the log afresh and compares every document of the active version, counts and deletions included, with the
 * result. A live system may go on meanwhile. Throws an error where nothing was projected yet, and
 * `RunningAlreadyError`.
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const active = fedVersions(await options.views.versions()).find(({ status }) => status === 'active');
  if (!active) throw new Error(`${options.realm} has no active version of documents of this code to verify`);
  return verifyVersion({ ...options, version: await options.views.open(active.version) });
}

/** The same for any version. The scratch that is folded into is dropped again in the end. */
export async function verifyVersion(
  options: VerifyOptions & { readonly version: ViewVersion },
): Promise<VerifyResult> {
  const { views, log, realm } = options;
  const lease = await takeLease(views, LEASE, leaseOwner(), LEASE_TTL_MS, log);
  if (!lease) throw new RunningAlreadyError(`a verification of ${realm}`, LEASE_TTL_MS);
  try {
    for (const { version, schema } of await views.versions())
      if (schema === SCRATCH_SCHEMA) await views.drop(version);
    const { version } = await views.createVersion(SCRATCH_SCHEMA);
    try {
      return await new Verification(options, await views.open(version)).run();
    } finally {
      await views.drop(version);
    }
  } finally {
    await lease.release();
  }
}

class Verification {
  private readonly options: VerifyOptions & { readonly version: ViewVersion };
  private readonly scratch: ViewVersion;
  private readonly started_ms = performance.now();
  private readonly documents: Partial<Record<CollectionName, number>> = {};
  private readonly differences: Difference[] = [];

  constructor(options: VerifyOptions & { readonly version: ViewVersion }, scratch: ViewVersion) {
    this.options = options;
    this.scratch = scratch;
  }

  async run(): Promise<VerifyResult> {
    const { version, events, views, system } = this.options;
    const common = { version: this.scratch, lane_count: views.lane_count, events, now: system.now };
    // An event that cannot be projected is so in both versions: its stream is compared as it stood before.
    const fold = await LogFold.open({ ...common, poison: 'park' });
    const meter = new ProgressMeter('verifying', await events.head(), this.options.on_progress);
    await this.level(fold, meter);
    let undecided = 0;
    for (const collection of COLLECTION_NAMES) {
      const suspects: Suspect[] = [];
      for await (const suspect of this.walk(collection)) {
        suspects.push(suspect);
        if (suspects.length >= PAGE) undecided += await this.judge(suspects.splice(0), fold, meter);
        if (this.full) break;
      }
      undecided += await this.judge(suspects, fold, meter);
    }
    const finished = !this.options.signal?.aborted;
    const clean = finished && this.differences.length === 0 && undecided === 0;
    const { documents, differences, full: truncated } = this;
    const duration_ms = Math.round(performance.now() - this.started_ms);
    const counted = { documents, events: meter.count, differences, truncated, undecided, duration_ms };
    return { clean, version: version.version, ...counted };
  }

  private get full(): boolean {
    return this.differences.length >= DIFFERENCES_MAX;
  }

  /** Brings the scratch to where the verified version is now, lane by lane. */
  private async level(fold: LogFold, meter: ProgressMeter): Promise<void> {
    const { version, signal } = this.options;
    const to = await version.checkpoints();
    await fold.advance({ to, signal, onBatch: (position, events) => meter.advance(position, events) });
  }

  /** Both sides by id; gives those that differ. */
  private async *walk(collection: CollectionName): AsyncGenerator<Suspect> {
    const expected = new Cursor(this.scratch, collection);
    const actual = new Cursor(this.options.version, collection);
    let left = await expected.next();
    let right = await actual.next();
    let count = 0;
    while ((left || right) && !this.options.signal?.aborted) {
      const id = !right || (left && left.id < right.id) ? left!.id : right.id;
      const a = left?.id === id ? left : undefined;
      const b = right?.id === id ? right : undefined;
      if (differencesOf(collection, id, a, b).length > 0) yield { collection, id };
      if (a) left = await expected.next();
      if (b) right = await actual.next();
      this.documents[collection] = ++count;
    }
  }

  /**
   * Looks again at documents that differed, until each is equal, or different in two looks between which neither side
   * has moved: the fresh fold then knows all that the stored document was made from. Gives how many stayed undecided.
   */
  private async judge(given: readonly Suspect[], fold: LogFold, meter: ProgressMeter): Promise<number> {
    let suspects = given;
    for (let round = 0; round < ROUNDS_MAX && suspects.length > 0; round++) {
      if (this.options.signal?.aborted) break;
      if (round > 0) await pause(Math.min(round, PAUSE_MS_MAX));
      await this.level(fold, meter);
      const expected = await read(this.scratch, suspects);
      const actual = await read(this.options.version, suspects);
      const still: Suspect[] = [];
      for (const suspect of suspects) {
        const key = keyOf(suspect);
        const left = expected.get(key);
        const right = actual.get(key);
        const differences = differencesOf(suspect.collection, suspect.id, left, right);
        const seen = `${left?.position}/${right?.position}`;
        if (differences.length > 0 && seen === suspect.seen) this.differences.push(...differences);
        else if (differences.length > 0) still.push({ ...suspect, seen });
      }
      suspects = still;
    }
    return suspects.length;
  }
}

/** A collection's documents by id, read in pages. */
class Cursor {
  private readonly version: ViewVersion;
  private readonly collection: CollectionName;
  private page: StoredDocument[] = [];
  private index = 0;
  private after_id: string | undefined;
  private ended = false;

  constructor(version: ViewVersion, collection: CollectionName) {
    this.version = version;
    this.collection = collection;
  }

  async next(): Promise<StoredDocument | undefined> {
    if (this.index === this.page.length && !this.ended) await this.turn();
    return this.page[this.index++];
  }

  private async turn(): Promise<void> {
    const after = this.after_id === undefined ? {} : { after_id: this.after_id };
    this.page = await this.version.scan(this.collection, { limit: PAGE, ...after });
    this.index = 0;
    this.after_id = this.page.at(-1)?.id ?? this.after_id;
    this.ended = this.page.length < PAGE;
  }
}

const keyOf = ({ collection, id }: Suspect): string => `${collection}/${id}`;

async function read(
  version: ViewVersion,
  suspects: readonly Suspect[],
): Promise<ReadonlyMap<string, StoredDocument>> {
  const found = new Map<string, StoredDocument>();
  for (const collection of new Set(suspects.map((suspect) => suspect.collection))) {
    const ids = suspects.filter((suspect) => suspect.collection === collection).map(({ id }) => id);
    for (const stored of await version.getMany(collection, ids, ALL_PARTS))
      found.set(keyOf({ collection, id: stored.id }), stored);
  }
  return found;
}
