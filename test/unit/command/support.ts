import { randomBytes } from 'node:crypto';
import { createAccount } from '../../../services/command/account';
import type { WriteContext } from '../../../services/command/execute';
import { createStore } from '../../../services/command/store';
import type { Account } from '../../../shared/catalog/account/account';
import type { Aggregate } from '../../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../../shared/catalog/events/codec';
import type { MediaPictures, MediaUpload } from '../../../shared/catalog/media/media';
import type { Environment } from '../../../shared/catalog/realm';
import type { Store } from '../../../shared/catalog/store/store';
import type { Decision } from '../../../shared/kernel/decision';
import { CatalogError, type Condition } from '../../../shared/kernel/errors';
import { type AnyId, generateId } from '../../../shared/kernel/ids';
import type { System } from '../../../shared/kernel/system';
import type { AppendResult } from '../../../shared/ports/event-store';
import { MemoryEventStore } from '../../support/memory-event-store';

export const AT = '2026-01-31T12:00:00.000Z';
export const NOW_MS = Date.parse(AT);

export const newId = <Id extends AnyId>(): Id => generateId<Id>(NOW_MS, randomBytes);

/** Lets another writer in between a writer's read and its append. */
class ContestedEventStore extends MemoryEventStore {
  beforeAppend: () => Promise<void> = async () => {};

  override async append(...given: Parameters<MemoryEventStore['append']>): Promise<AppendResult> {
    await this.beforeAppend();
    return super.append(...given);
  }
}

/** The three logs in memory, and a clock that is moved by hand. */
export class World {
  readonly events = {
    control: new ContestedEventStore(),
    live: new ContestedEventStore(),
    test: new ContestedEventStore(),
  };
  now_ms = NOW_MS;
  readonly system: System = { now: () => this.now_ms, random: randomBytes };
  private requests = 0;

  /** A context of its own for every call, as every request has. */
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

export type Outcome<Event> = readonly Event[] | Condition;

/** given these events, when this command, then: the events it decides on, or the condition it is refused with. */
export function teller<State, Event extends DomainEvent, Id extends AnyId, Command>(
  aggregate: Aggregate<State, Event, Id>,
  decide: (state: State, command: Command) => Decision<Event>,
  id: Id,
) {
  const fold = (events: readonly Event[]): State =>
    events.reduce((state, event) => aggregate.evolve(state, event, id, AT), aggregate.absent);
  const outcome = (given: readonly Event[], command: Command): Outcome<Event> => {
    const decision = decide(fold(given), command);
    return decision.ok ? decision.events : decision.condition;
  };
  return { fold, outcome };
}

/** What a call was refused with; fails where it was not. */
export async function refusal(call: () => unknown): Promise<CatalogError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof CatalogError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

/** `[condition, field]` of every fault. */
export async function faultsOf(call: () => unknown): Promise<[Condition, string][]> {
  return (await refusal(call)).faults.map(({ condition, field }) => [condition, field]);
}

const image = (letter: string) =>
  ({ hash: letter.repeat(64), mime_type: 'image/png', size_bytes: 1000, width: 30, height: 20 }) as const;

export const anUpload = (): Omit<MediaUpload, 'store_id'> => ({ ...image('a'), alt: null });

export const somePictures = (): MediaPictures => ({
  picture: image('b'),
  variants: [{ name: 'thumb', ...image('c') }],
  placeholder: 'data:image/webp;base64,AA==',
});
