import { COLLECTION_NAMES, type CollectionName, type StoredDocument } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { AlreadyRunningError } from '../engine/errors';
import { leaseOwner, takeLease } from '../engine/lease';
import { assertMadeFromLog } from '../engine/log-match';
import { documentsOf } from '../engine/pages';
import { dispatchedVersions, SCRATCH_SCHEMA } from '../engine/versions';
import { type Difference, type DocumentAddress, differencesOf, keyOf, readDocuments } from './differences';
import { LogFold } from './log-fold';
import { type OnProgress, ProgressMeter } from './progress';
import { Repair } from './repair';

export interface VerifyOptions {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
  readonly on_progress?: OnProgress;
  readonly signal?: AbortSignal;
  /** Whether to rewrite the documents that have drifted (`Repair`). Default: false. */
  readonly repairs?: boolean;
}

export interface VerifyResult {
  /** Whether every document was compared and equals the fresh fold. False if `signal` aborted. */
  readonly clean: boolean;
  readonly version: number;
  /** Number of compared documents by collection, including deleted ones. */
  readonly documents: Readonly<Partial<Record<CollectionName, number>>>;
  readonly events: number;
  /**
   * At 1,000 differences, the search ends early and `truncated` is true. The group of documents that reaches this limit
   * may add up to 5,000 differences. With `repairs`, the search goes on, but does not list further differences.
   */
  readonly differences: readonly Difference[];
  /** Number of documents that were rewritten. Only with `repairs`: `differences` are then those of the last pass. */
  readonly rewritten: number;
  readonly truncated: boolean;
  /** Number of documents that writers changed between all comparisons. Whether they have drifted is unknown. */
  readonly undecided: number;
  readonly duration_ms: number;
}

const LEASE = 'verify';
const LEASE_TTL_MS = 15_000;
/** Documents that differ are compared again in groups of this size. */
const SUSPECTS_MAX = 500;
/** The search ends at this number of differences. Checked after each group, so there may be more. */
const DIFFERENCES_MAX = 1_000;
/** Number of comparisons after which a suspect counts as undecided. */
const ROUNDS_MAX = 100;
/** The pause between two comparisons is 1 ms longer each time, up to this. */
const PAUSE_MS_MAX = 10;
/** A repair compares all documents at most this often: a worker may copy from a damaged document before its repair. */
const PASSES_MAX = 10;

/** A document that differs between the two versions: it has drifted, or a worker wrote it between the two reads. */
interface Suspect extends DocumentAddress {
  /** Positions of both documents at the last comparison in `recheck`. Absent before the first one. */
  readonly positions?: string;
}

/**
 * Folds the log into a scratch version and compares every document of the active version with it, including counts and
 * tombstones. Writers may continue. Throws `AlreadyRunningError`, `DamagedFileError`, `LogMismatchError` if the documents
 * were made from another log, and an error if there is no active version of this schema. See
 * `docs/architecture.md#verify`.
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const active = dispatchedVersions(await options.views.versions()).find(({ status }) => status === 'active');
  if (!active)
    throw new Error(`Nothing to verify: ${options.realm} has no active version of this release's schema.`);
  const version = await options.views.open(active.version);
  await assertMadeFromLog(options.events, version);
  // The comparison reads documents by id, so it would not find a damaged index.
  await version.checkData?.();
  return verifyVersion({ ...options, version });
}

/** Verifies a version that need not be active, like `verify`. Drops the scratch version at the end. */
export async function verifyVersion(
  options: VerifyOptions & { readonly version: ViewVersion },
): Promise<VerifyResult> {
  const { views, log, realm } = options;
  const lease = await takeLease(views, LEASE, leaseOwner(), LEASE_TTL_MS, log);
  if (!lease) throw new AlreadyRunningError(`A verification of ${realm}`, LEASE_TTL_MS);
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

interface Compared {
  readonly suspect: Suspect;
  readonly differences: readonly Difference[];
  readonly positions: string;
}

class Verification {
  private readonly options: VerifyOptions & { readonly version: ViewVersion };
  private readonly scratch: ViewVersion;
  private readonly started_ms = performance.now();
  private readonly documents: Partial<Record<CollectionName, number>> = {};
  private differences: Difference[] = [];
  private rewritten = 0;
  private readonly repair: Repair | undefined;

  constructor(options: VerifyOptions & { readonly version: ViewVersion }, scratch: ViewVersion) {
    this.options = options;
    this.scratch = scratch;
    const { version, views, repairs } = options;
    this.repair = repairs ? new Repair(version, scratch, views.partition_count) : undefined;
  }

  async run(): Promise<VerifyResult> {
    const { version, events, views, system } = this.options;
    const fold = await LogFold.open({
      version: this.scratch,
      partition_count: views.partition_count,
      events,
      now: system.now,
      // A poison event fails in both versions, so neither version contains its changes.
      poison: 'dead_letter',
      onWritten: this.repair?.recordPartitions,
    });
    const meter = new ProgressMeter('verifying', await events.head(), this.options.on_progress);
    await this.catchUp(fold, meter);
    let undecided = 0;
    for (let pass = 1; pass <= (this.repair ? PASSES_MAX : 1); pass++) {
      const { rewritten } = this;
      this.differences = [];
      undecided = await this.compareAll(fold, meter);
      const is_repaired = this.differences.length + undecided === 0;
      if (is_repaired || (pass > 1 && this.rewritten === rewritten)) break;
    }
    const finished = !this.options.signal?.aborted;
    const clean = finished && this.differences.length === 0 && undecided === 0;
    return {
      clean,
      version: version.version,
      documents: this.documents,
      events: meter.count,
      differences: this.differences,
      rewritten: this.rewritten,
      truncated: this.is_full,
      undecided,
      duration_ms: Math.round(performance.now() - this.started_ms),
    };
  }

  /** Compares all documents once. Returns the number of those that are still undecided. */
  private async compareAll(fold: LogFold, meter: ProgressMeter): Promise<number> {
    let undecided = 0;
    for (const collection of COLLECTION_NAMES) {
      const suspects: Suspect[] = [];
      for await (const suspect of this.walk(collection)) {
        suspects.push(suspect);
        if (suspects.length >= SUSPECTS_MAX) undecided += await this.recheck(suspects.splice(0), fold, meter);
        if (this.is_full && !this.repair) break;
      }
      undecided += await this.recheck(suspects, fold, meter);
    }
    return undecided;
  }

  private get is_full(): boolean {
    return this.differences.length >= DIFFERENCES_MAX;
  }

  /** Projects the scratch version up to the current checkpoints of the verified version, and returns these. */
  private async catchUp(fold: LogFold, meter: ProgressMeter): Promise<Position[]> {
    const { version, views } = this.options;
    // `partition` also completes a batch that a crashed worker has left unfinished.
    const partitions = Array.from({ length: views.partition_count }, (_, n) => version.partition(n));
    const to = (await Promise.all(partitions)).map(({ checkpoint }) => checkpoint);
    await this.advance(fold, meter, to, false);
    return to;
  }

  private advance(
    fold: LogFold,
    meter: ProgressMeter,
    to: readonly Position[],
    is_inexact = true,
  ): Promise<void> {
    const { signal } = this.options;
    const onBatch = (position: Position, events: number) => meter.advance(position, events);
    return fold.advance({ to, signal, is_inexact, onBatch });
  }

  /**
   * Projects the scratch version up to the stored positions of these documents. It may then be ahead of the checkpoints of
   * the verified version.
   */
  private async advanceToDocuments(
    fold: LogFold,
    meter: ProgressMeter,
    documents: readonly StoredDocument[],
  ): Promise<void> {
    const { events, views } = this.options;
    const head = await events.head();
    const to = fold.checkpoints();
    for (const { id, position, document } of documents) {
      const partition = partitionOf(String(document?.keys.store_id ?? id), views.partition_count);
      if (position <= head && position > to[partition]!) to[partition] = position;
    }
    await this.advance(fold, meter, to);
  }

  /** Reads both versions side by side, in order of id. Yields the documents that differ. */
  private async *walk(collection: CollectionName): AsyncGenerator<Suspect> {
    const expected_documents = documentsOf(this.scratch, collection);
    const actual_documents = documentsOf(this.options.version, collection);
    let { value: next_expected } = await expected_documents.next();
    let { value: next_actual } = await actual_documents.next();
    let count = 0;
    while ((next_expected || next_actual) && !this.options.signal?.aborted) {
      // Compare the smaller id of the two. If only one version has a document with this id, the other one waits.
      const is_expected_smaller = !next_actual || (next_expected && next_expected.id < next_actual.id);
      const { id } = (is_expected_smaller ? next_expected : next_actual)!;
      const expected = next_expected?.id === id ? next_expected : undefined;
      const actual = next_actual?.id === id ? next_actual : undefined;
      if (differencesOf(collection, id, expected, actual).length > 0) yield { collection, id };
      if (expected) next_expected = (await expected_documents.next()).value;
      if (actual) next_actual = (await actual_documents.next()).value;
      this.documents[collection] = ++count;
    }
  }

  /**
   * Compares each suspect again until it is equal in both versions or has drifted. A document has drifted if it differs
   * twice in a row at the same positions. The same positions mean that neither version wrote the document between the two
   * comparisons. Before the second comparison, the fresh fold has read every event that the stored document includes, and
   * none that the checkpoint of its partition does not.
   *
   * Workers may write a document more often than it is compared. Therefore documents that differ are compared once more
   * after the fresh fold has read up to their stored positions. Returns the number of suspects that are still undecided.
   */
  private async recheck(found: readonly Suspect[], fold: LogFold, meter: ProgressMeter): Promise<number> {
    const advance = (to: readonly Position[]): Promise<void> => this.advance(fold, meter, to);
    const rewrite = async (differing: readonly Suspect[]): Promise<void> => {
      this.rewritten += (await this.repair?.rewrite(differing, { fold, advance })) ?? 0;
    };
    let suspects = found;
    for (let round = 0; round < ROUNDS_MAX && suspects.length > 0; round++) {
      if (this.options.signal?.aborted) break;
      if (round > 0) await pause(Math.min(round, PAUSE_MS_MAX));
      const reached = await this.catchUp(fold, meter);
      const is_ahead = fold.checkpoints().some((position, partition) => position > reached[partition]!);
      const actual_documents = await readDocuments(this.options.version, suspects);
      const compared = await this.compare(suspects, actual_documents);
      const undecided: Suspect[] = [];
      const drifted: Suspect[] = [];
      for (const { suspect, positions, differences } of compared) {
        const has_drifted = !is_ahead && positions === suspect.positions;
        (has_drifted ? drifted : undecided).push({ ...suspect, positions });
        if (has_drifted && !(this.repair && this.is_full)) this.differences.push(...differences);
      }
      await rewrite(drifted);
      const changing = undecided.flatMap((suspect) => actual_documents.get(keyOf(suspect)) ?? []);
      await this.advanceToDocuments(fold, meter, changing);
      suspects = (await this.compare(undecided, actual_documents)).map(({ suspect }) => suspect);
    }
    // Unlike a comparison, a rewrite also decides about a document that workers write all the time.
    await rewrite(suspects);
    return suspects.length;
  }

  /** Returns the suspects that differ from the scratch version now. */
  private async compare(
    suspects: readonly Suspect[],
    actual_documents: ReadonlyMap<string, StoredDocument>,
  ): Promise<Compared[]> {
    const expected_documents = await readDocuments(this.scratch, suspects);
    return suspects.flatMap((suspect) => {
      const { collection, id } = suspect;
      const expected = expected_documents.get(keyOf(suspect));
      const actual = actual_documents.get(keyOf(suspect));
      const differences = differencesOf(collection, id, expected, actual);
      if (differences.length === 0) return [];
      return [{ suspect, differences, positions: `${expected?.position}/${actual?.position}` }];
    });
  }
}
