import { accountEvents } from '../account/account';
import { apiKeyEvents } from '../api-key/api-key';
import { listPriceEvents } from '../list-price/list-price';
import { listingEvents } from '../listing/listing';
import { mediaEvents } from '../media/media';
import { nameEvents } from '../name/name';
import { proposalEvents } from '../proposal/proposal';
import { pageViewEvents } from '../publication/page-views';
import { publicationEvents } from '../publication/publication';
import { reviewEvents } from '../review/review';
import { storeEvents } from '../store/store';
import { webhookEvents } from '../webhook/webhook';
import { type CorrectionEvent, correctionEvents } from './correction';
import type { Category, EncodedEvent, JsonObject, RecordedEvent } from './envelope';
import type { EventDefinition, EventOf } from './event-definition';

/** The events of each kind of stream. Any stream may have corrections. */
const eventDefinitions = {
  account: accountEvents,
  api_key: apiKeyEvents,
  store: storeEvents,
  listing: listingEvents,
  publication: publicationEvents,
  views: pageViewEvents,
  media: mediaEvents,
  review: reviewEvents,
  name: nameEvents,
  webhook: webhookEvents,
  proposal: proposalEvents,
  list_price: listPriceEvents,
} as const satisfies Record<Category, readonly EventDefinition[]>;

export type DomainEvent = EventOf<(typeof eventDefinitions)[Category]> | CorrectionEvent;

/** The events that this code reads and writes. */
export const allEventDefinitions: readonly EventDefinition[] = [
  ...Object.values(eventDefinitions).flat(),
  ...correctionEvents,
];

const byType = new Map(allEventDefinitions.map((definition) => [definition.type, definition]));

/** Whether streams of the category have events of this type. */
export const isEventOf = (category: Category, type: string): boolean =>
  eventDefinitions[category].some((definition) => definition.type === type);

/**
 * An event that this code cannot read or write: its type is unknown, its version is too new, or its data does not match
 * its schema. Such an event is never skipped silently.
 */
class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError';
}

/** Validates the event and returns its stored form. Throws `UnreadableEventError` if it does not match its schema. */
export function encodeEvent(event: DomainEvent): Pick<EncodedEvent, 'type' | 'schema_version' | 'data'> {
  const definition = byType.get(event.type);
  if (!definition) throw new UnreadableEventError(`no definition of event ${event.type}`);
  const parsed = definition.schema.safeParse(event.data);
  if (!parsed.success)
    throw new UnreadableEventError(`${event.type} does not match its schema: ${parsed.error.message}`);
  return { type: event.type, schema_version: definition.version, data: parsed.data as JsonObject };
}

/** Upcasts a stored event to the newest version and validates it. Throws `UnreadableEventError`. */
export function decodeEvent(stored: Pick<RecordedEvent, 'type' | 'schema_version' | 'data'>): DomainEvent {
  const definition = byType.get(stored.type);
  if (!definition) throw new UnreadableEventError(`unknown event type ${stored.type}`);
  if (stored.schema_version > definition.version)
    throw new UnreadableEventError(
      `${stored.type} has version ${stored.schema_version}; this release reads up to version ${definition.version}`,
    );
  let data = stored.data;
  for (let version = stored.schema_version; version < definition.version; version++) {
    const upcast = definition.upcasters[version];
    if (!upcast) throw new UnreadableEventError(`${stored.type} has no upcaster from version ${version}`);
    data = upcast(data);
  }
  const parsed = definition.schema.safeParse(data);
  if (!parsed.success)
    throw new UnreadableEventError(`${stored.type} does not match its schema: ${parsed.error.message}`);
  return { type: stored.type, data: parsed.data } as DomainEvent;
}

/** Decodes an event. Returns undefined if this release cannot read it. For reads that leave such an event out. */
export function decodeIfReadable(stored: Parameters<typeof decodeEvent>[0]): DomainEvent | undefined {
  try {
    return decodeEvent(stored);
  } catch {
    return undefined;
  }
}
