import type { StoredDocument } from '../../shared/catalog/documents';
import { type Position, START } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { greatest } from '../../shared/catalog/events/positions';
import { UnstorableDocumentError } from '../../shared/kernel/errors';
import type { DocumentWrite, PartitionState, ViewVersion } from '../../shared/ports/view-store';
import { LostRaceError } from '../engine/errors';
import { untilRaceIsWon } from '../engine/project';
import { type DocumentAddress, differencesOf, keyOf, readDocuments } from './differences';
import type { LogFold } from './log-fold';

/** Number of lost races with workers in a row after which the documents of a partition stay as they are. */
const LOST_RACES_MAX = 200;

/** The fresh fold, and how to advance it to these checkpoints. */
interface FreshFold {
  readonly fold: LogFold;
  readonly advance: (to: readonly Position[]) => Promise<void>;
}

/**
 * Rewrites documents of `version` as a fresh fold of the log has them (`scratch`), while workers write. The store applies
 * a batch only if no worker has written to the partition since its state was read, so a newer document is never replaced.
 * A worker that loses this race projects its events again, into the rewritten documents.
 */
export class Repair {
  private readonly version: ViewVersion;
  private readonly scratch: ViewVersion;
  private readonly partition_count: number;
  /** The partition of each document of the fresh fold whose keys do not name its store, such as a tombstone. */
  private readonly partitions = new Map<string, number>();

  constructor(version: ViewVersion, scratch: ViewVersion, partition_count: number) {
    this.version = version;
    this.scratch = scratch;
    this.partition_count = partition_count;
  }

  /** Takes the writes of the fresh fold. */
  readonly recordPartitions = (partition: number, writes: readonly DocumentWrite[]): void => {
    for (const write of writes) if (!storeOf(write)) this.partitions.set(keyOf(write), partition);
  };

  /** Rewrites those of the documents that differ. Returns their number. */
  async rewrite(drifted: readonly DocumentAddress[], fresh: FreshFold): Promise<number> {
    const expected = await readDocuments(this.scratch, drifted);
    const actual = await readDocuments(this.version, drifted);
    const by_partition = new Map<number, DocumentAddress[]>();
    for (const address of drifted) {
      const key = keyOf(address);
      // No event made a surplus document, so no worker writes it, and any partition serves.
      const store_id = storeOf(expected.get(key)) ?? storeOf(actual.get(key)) ?? address.id;
      const partition = this.partitions.get(key) ?? partitionOf(store_id, this.partition_count);
      by_partition.set(partition, [...(by_partition.get(partition) ?? []), address]);
    }
    let count = 0;
    for (const [partition, addresses] of by_partition)
      count += await untilRaceIsWon(LOST_RACES_MAX, () => this.rewriteIn(partition, addresses, fresh)).catch(
        (error: unknown) => {
          if (error instanceof LostRaceError) return 0;
          throw error;
        },
      );
    return count;
  }

  private async rewriteIn(
    partition: number,
    addresses: readonly DocumentAddress[],
    { fold, advance }: FreshFold,
  ): Promise<number> {
    const state = await this.version.partition(partition);
    const { checkpoint, revision } = state;
    if (fold.checkpoints()[partition]! < checkpoint)
      await advance(fold.checkpoints().with(partition, checkpoint));
    // After `skip`, or before `retry`, the documents contain other events than the fresh fold, on purpose.
    if (waitingIn(state, checkpoint) !== waitingIn(await this.scratch.partition(partition), checkpoint))
      return 0;
    const is_ahead = fold.checkpoints()[partition]! > checkpoint;
    const expected_documents = await readDocuments(this.scratch, addresses);
    const actual_documents = await readDocuments(this.version, addresses);
    const writes = addresses.flatMap((address): DocumentWrite[] => {
      const { collection, id } = address;
      const expected = expected_documents.get(keyOf(address));
      const actual = actual_documents.get(keyOf(address));
      // An expected document that is written after the checkpoint may contain events that its partition does not yet.
      if (is_ahead && expected && expected.position > checkpoint) return [];
      if (differencesOf(collection, id, expected, actual).length === 0) return [];
      const position = greatest([checkpoint, (actual?.position ?? START) + 1n]);
      const document = expected?.document ?? null;
      return [{ collection, id, position, document, is_new: !actual, is_removed: !expected }];
    });
    if (writes.length === 0) return 0;
    const outcome = await this.version
      .apply({ partition, revision, checkpoint, writes })
      .catch((cause: unknown) => {
        if (!(cause instanceof UnstorableDocumentError)) throw cause;
        // For example after a row was deleted by hand: its entries in the indexes are still there.
        throw new Error(
          `The indexes do not match the documents (${cause.message}). Run "catalog projections rebuild".`,
          { cause },
        );
      });
    if (outcome === 'lost_race') throw new LostRaceError(`partition ${partition}`);
    return writes.length;
  }
}

function storeOf({ document }: Pick<StoredDocument, 'document'> = { document: null }): string | undefined {
  const store_id = document?.keys.store_id;
  return typeof store_id === 'string' ? store_id : undefined;
}

/** Names the waiting events of a partition up to `checkpoint`. */
function waitingIn({ dead_letters }: PartitionState, checkpoint: Position): string {
  const waiting = dead_letters.filter(({ position }) => position <= checkpoint);
  return waiting.map(({ stream, revision }) => `${stream} ${revision}`).join();
}
