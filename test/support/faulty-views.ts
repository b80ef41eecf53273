import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { SqliteViewVersion } from '../../shared/adapters/sqlite/view-version';
import type { Position } from '../../shared/catalog/events/envelope';
import type { DocumentWrite, ViewStore, WriteBatch } from '../../shared/ports/view-store';
import { makeTempDir } from './temp-dir';

/** How many partitions the views of these tests have. */
export const PARTITIONS = 4;

/** Thrown after a batch, as if the process had crashed there: the batch is stored, but nobody learns of it. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/**
 * What a test lets happen around the batches of a version. The store applies a batch as a whole or not at all, so a crash
 * after a batch is the same as one before or within the next batch.
 */
interface Faults {
  /** Number of batches that are applied before a batch ends with `Crash`. */
  crash_in: number;
  /** Called with each document before its batch is applied. May throw, as a store does that refuses the document. */
  beforeWrite: (write: DocumentWrite) => void;
  /** Awaited before each batch. Another worker may run meanwhile. */
  interleave: () => Promise<void>;
}

/** A view version on SQLite, with faults on demand. */
export type FaultyVersion = SqliteViewVersion & Faults;

function withFaults(version: SqliteViewVersion): FaultyVersion {
  const positions = new Map<string, Position>();
  /** The port demands that each write of a document has a later position than the one before. */
  const assertMovesOn = ({ collection, id, position }: DocumentWrite): void => {
    const place = `${collection}/${id}`;
    if (position <= (positions.get(place) ?? -1n)) throw new Error(`${place} does not move on`);
    positions.set(place, position);
  };
  const apply = async (batch: WriteBatch): Promise<'applied' | 'lost_race'> => {
    await faulty.interleave();
    for (const write of batch.writes) faulty.beforeWrite(write);
    const outcome = await version.apply(batch);
    if (outcome === 'applied') batch.writes.forEach(assertMovesOn);
    if (faulty.crash_in-- <= 0) throw new Crash('crashed');
    return outcome;
  };
  const faults: Faults = {
    crash_in: Number.POSITIVE_INFINITY,
    beforeWrite: () => {},
    interleave: async () => {},
  };
  const faulty: FaultyVersion = Object.assign(Object.create(version), faults, { apply });
  return faulty;
}

/** Ends what the test has opened. */
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Opens an empty version in memory. It is closed after the test. */
export async function openVersion(): Promise<FaultyVersion> {
  const version = await SqliteViewVersion.open(1, ':memory:', PARTITIONS);
  closing.push(() => version.close());
  return withFaults(version);
}

/** A view store whose versions have faults. */
export interface FaultyViews extends ViewStore {
  open(version: number): Promise<FaultyVersion>;
}

/** Opens an empty view store in a folder of its own. It is closed after the test. */
export async function openViews(): Promise<FaultyViews> {
  const folder = makeTempDir();
  const store = await SqliteViewStore.open({ folder: folder.path, partition_count: PARTITIONS });
  closing.push(async () => {
    await store.close();
    folder.remove();
  });
  const faulty = new Map<number, FaultyVersion>();
  const open = async (number: number): Promise<FaultyVersion> => {
    const version = await store.open(number);
    const known = faulty.get(number) ?? withFaults(version);
    faulty.set(number, known);
    return known;
  };
  return Object.assign(Object.create(store), { open });
}
