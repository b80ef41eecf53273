import { randomBytes } from 'node:crypto';
import { createAccount } from '../../../services/command/account';
import type { WriteContext } from '../../../services/command/execute';
import { createPublication } from '../../../services/command/publication';
import { createStore } from '../../../services/command/store';
import type { Account } from '../../../shared/catalog/account/account';
import { type DomainEvent, encodeEvent } from '../../../shared/catalog/events/codec';
import { streamName } from '../../../shared/catalog/events/envelope';
import type { MediaPictures, MediaUpload } from '../../../shared/catalog/media/media';
import type { Environment } from '../../../shared/catalog/realm';
import type { Store } from '../../../shared/catalog/store/store';
import { CatalogError, type Condition } from '../../../shared/kernel/errors';
import { type AnyId, generateId, type StoreId } from '../../../shared/kernel/ids';
import type { System } from '../../../shared/kernel/system';
import type { AppendResult } from '../../../shared/ports/event-store';
import { MemoryEventStore } from '../../support/memory-event-store';

export const AT = '2026-01-31T12:00:00.000Z';
export const NOW_MS = Date.parse(AT);

export const newId = <Id extends AnyId>(): Id => generateId<Id>(NOW_MS, randomBytes);

/**
 * An event store that calls `beforeAppend` between a write's read and its append, so that a test can append in between.
 */
class ContestedEventStore extends MemoryEventStore {
  beforeAppend: () => Promise<void> = async () => {};

  override async append(...args: Parameters<MemoryEventStore['append']>): Promise<AppendResult> {
    await this.beforeAppend();
    return super.append(...args);
  }
}

/** In-memory logs of the three realms, and a clock that tests set. */
export class World {
  readonly events = {
    control: new ContestedEventStore(),
    live: new ContestedEventStore(),
    test: new ContestedEventStore(),
  };
  now_ms = NOW_MS;
  readonly system: System = { now: () => this.now_ms, random: randomBytes };
  private requests = 0;

  /** Returns a context with a new request id. */
  context(): WriteContext {
    return { source: 'api', request_id: `request-${++this.requests}` };
  }

  async account(name = 'Acme'): Promise<Account> {
    return (await createAccount(this, this.context(), { name })).value;
  }

  async store(environment: Environment = 'live', account?: Account): Promise<Store> {
    const { id: account_id } = account ?? (await this.account());
    return (await createStore(this, this.context(), { account_id }, { name: 'Shop', environment })).value;
  }
}

/**
 * A publication with `count` events, all but the first of which an earlier process appended. `eventAt` returns the event
 * of a revision.
 */
export async function publicationWithEvents(count: number, eventAt: (revision: number) => DomainEvent) {
  const world = new World();
  const store_id = newId<StoreId>();
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 0 };
  const target = { environment: 'live', store_id } as const;
  const { id } = (await createPublication(world, world.context(), target, tea)).value;
  const events = world.events.live;
  const stream = streamName('live', 'publication', id);
  const metadata = { occurred_at: AT, partition_key: store_id, source: 'system' } as const;
  for (let revision = 1; revision < count; revision++)
    events.log.push({
      ...{ stream, revision, position: BigInt(revision + 1), id: newId(), metadata },
      ...encodeEvent(eventAt(revision)),
    });
  return { world, id, events, stream };
}

/** Returns the error that the call throws. Throws if the call succeeds. */
export async function errorOf(call: () => unknown): Promise<CatalogError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof CatalogError) return error;
    throw error;
  }
  throw new Error('the call succeeded');
}

/** Returns `[condition, field]` of every fault that the call throws. */
export async function faultsOf(call: () => unknown): Promise<[Condition, string][]> {
  return (await errorOf(call)).faults.map(({ condition, field }) => [condition, field]);
}

const image = (letter: string) =>
  ({ hash: letter.repeat(64), mime_type: 'image/png', size_bytes: 1000, width: 30, height: 20 }) as const;

export const anUpload = (): Omit<MediaUpload, 'store_id'> => ({ ...image('a'), alt: null });

export const somePictures = (): MediaPictures => ({
  picture: image('b'),
  variants: [{ name: 'thumb', ...image('c') }],
  placeholder: 'data:image/webp;base64,AA==',
});
