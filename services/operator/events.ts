import { z } from 'zod';
import { newestEvents, showStream } from '../../projections/maintenance/event-log';
import { partsOf } from '../../projections/maintenance/parts';
import { parseStreamName, type RecordedEvent, type StreamName } from '../../shared/catalog/events/envelope';
import { REALMS } from '../../shared/catalog/realm';
import { endpoint, notFound } from './endpoint';

/** How many events an answer has at most. */
const EVENTS_MAX = 50;
/** How many events a request examines to find the wanted ones. The next request goes on with older events. */
const EXAMINED_MAX = 5_000;

const wholeNumber = (digits_max: number) =>
  z.string().regex(new RegExp(`^\\d{1,${digits_max}}$`), `a whole number of at most ${digits_max} digits`);

const eventsQuery = z.object({
  realm: z.enum(REALMS).default('live'),
  /** ID of a store, or of an account. */
  store: z.string().optional(),
  /** Types, separated by commas. */
  type: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((each) => each !== ''))
    .optional(),
  before: wholeNumber(18).transform(BigInt).optional(),
  limit: wholeNumber(2)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= EVENTS_MAX, `an integer from 1 to ${EVENTS_MAX}`)
    .default(EVENTS_MAX),
});

const streamQuery = z.object({
  name: z.string(),
  /** Revision of the first event to show. */
  from: wholeNumber(9).transform(Number).default(0),
});

export const eventEndpoints = [
  endpoint('GET /operator/events', { query: eventsQuery }, async ({ deps, query }) => {
    const { realm, store, type, before, limit } = query;
    const wanted = { ...(store && { store }), ...(type?.length && { type }) };
    const search = { before, examined_max: EXAMINED_MAX };
    const found = await newestEvents(deps.events[realm], wanted, limit, search);
    return { data: found.events.map(summaryOf), meta: { before: found.before ?? null } };
  }),

  endpoint('GET /operator/stream', { query: streamQuery }, async ({ deps, query }) => {
    const { name, from } = query;
    const realm = parseStreamName(name)?.realm;
    const shown = realm && (await showStream(partsOf(deps, realm), name as StreamName, from, EVENTS_MAX));
    if (!shown?.events.length) throw notFound('This stream has no such events');
    const { events, dead_letter } = shown;
    const next = events.length === EVENTS_MAX ? events.at(-1)!.revision + 1 : null;
    const data = {
      realm,
      stream: name,
      dead_letter,
      events: events.map((event) => ({
        ...summaryOf(event),
        data: event.data,
        ...(event.error !== undefined && { error: event.error }),
      })),
    };
    return { data, meta: { next } };
  }),
];

/** Returns an event without its data. */
function summaryOf({ id, stream, revision, position, type, metadata }: RecordedEvent) {
  const { occurred_at, source, api_key_id = null, request_id = null } = metadata;
  return { id, type, stream, revision, position, occurred_at, source, api_key_id, request_id };
}
