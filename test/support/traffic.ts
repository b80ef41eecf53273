import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from './fetch';

/** Pause after a failed request. */
const RETRY_AFTER_MS = 50;
/** Pause of a reader between two requests, so that readers leave CPU time to what they observe. */
const READ_EVERY_MS = 20;

/** A publication after its last acknowledged write. */
export interface Written {
  readonly id: string;
  readonly listing_id: string;
  readonly title: string;
  readonly price_amount: number;
  readonly created_at: string;
  readonly deleted: boolean;
}

/** What writers know from their responses. The documents must agree with it in the end. */
export class Ledger {
  readonly publications = new Map<string, Written>();
  /** Unexpected responses and broken connections. */
  readonly failures: string[] = [];
  /**
   * Number of responses that say that a server is unreachable: `503`, or `500 DATABASE_TIMEOUT`, with `Retry-After`.
   */
  outages = 0;
  /** Number of outages that were responses to a creation. The publication may have been stored. */
  uncertain_creations = 0;
  /** Publications with a change to which the response was an outage. The change may have been stored. */
  readonly uncertain = new Set<string>();
  acknowledged = 0;
  /** When the last request failed, by `Date.now()`. 0 if none has. */
  last_failure_ms = 0;
  /** Position of the newest acknowledged write. */
  position = 0n;

  /** Counts an outage. Returns false if the response is not one. */
  countOutage(status: number, headers: Headers, text: string): boolean {
    const is_outage = status === 503 || (status === 500 && text.includes('DATABASE_TIMEOUT'));
    if (!is_outage || !headers.has('retry-after')) return false;
    this.outages += 1;
    this.last_failure_ms = Date.now();
    return true;
  }

  /** Records an unexpected response or a broken connection. */
  addFailure(text: string): void {
    this.failures.push(text);
    this.last_failure_ms = Date.now();
  }

  /** Number of requests that failed, whatever the reason. */
  get failed(): number {
    return this.outages + this.failures.length;
  }

  record(written: Written, position: string | null): void {
    this.publications.set(written.id, written);
    this.acknowledged += 1;
    if (position !== null && BigInt(position) > this.position) this.position = BigInt(position);
  }

  /** Returns the publications of a listing, oldest first, then by id. */
  inListing(listing_id: string): Written[] {
    const order = (a: Written, b: Written): number =>
      a.created_at === b.created_at ? compare(a.id, b.id) : compare(a.created_at, b.created_at);
    return [...this.publications.values()]
      .filter((one) => one.listing_id === listing_id && !one.deleted)
      .sort(order);
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export interface TrafficOptions {
  readonly token: string;
  readonly ledger: Ledger;
  readonly listings: readonly string[];
  readonly signal: AbortSignal;
}

/** Creates, changes, moves and deletes publications, one after another, until the signal aborts. */
export async function write(name: string, url: string, options: TrafficOptions): Promise<void> {
  const { ledger, listings, signal } = options;
  const own_ids: string[] = [];
  for (let turn = 0; !signal.aborted; turn++) {
    const listing_id = listings[turn % listings.length]!;
    const id = own_ids[turn % own_ids.length];
    if (id === undefined || turn % 3 !== 0) {
      const title = `${name} ${turn}`;
      const fields = { title, listing_id, price_currency: 'USD', price_amount: turn };
      const created = await send(url, 'POST', '/api/publication', fields, options);
      if (created) own_ids.push(recordResource(ledger, created, listing_id));
      else ledger.uncertain_creations += 1;
    } else if (turn % 9 === 0) {
      const result = await send(url, 'DELETE', `/api/publication/${id}`, undefined, options);
      own_ids.splice(own_ids.indexOf(id), 1);
      if (result) ledger.record({ ...ledger.publications.get(id)!, deleted: true }, result.position);
      else ledger.uncertain.add(id);
    } else {
      const fields = { title: `${name} ${turn} again`, listing_id, price_amount: turn * 2 };
      const changed = await send(url, 'PATCH', `/api/publication/${id}`, fields, options);
      if (changed) recordResource(ledger, changed, listing_id);
      else {
        ledger.uncertain.add(id);
        own_ids.splice(own_ids.indexOf(id), 1);
      }
    }
  }
}

interface WriteResult {
  readonly data: Omit<Written, 'listing_id' | 'deleted'>;
  readonly position: string | null;
}

function recordResource(ledger: Ledger, { data, position }: WriteResult, listing_id: string): string {
  const { id, title, price_amount, created_at } = data;
  ledger.record({ id, listing_id, title, price_amount, created_at, deleted: false }, position);
  return id;
}

/** Every second write asks not to wait for its projection. */
let sent = 0;

async function send(
  url: string,
  method: string,
  path: string,
  fields: unknown,
  { token, ledger }: TrafficOptions,
): Promise<WriteResult | undefined> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...(sent++ % 2 === 0 ? { prefer: 'respond-async' } : {}),
  };
  const body = fields === undefined ? {} : { body: JSON.stringify(fields) };
  try {
    const reply = await fetch(`${url}${path}`, { method, headers, ...body });
    const text = await reply.text();
    if (reply.ok)
      return {
        data: JSON.parse(text).data as WriteResult['data'],
        position: reply.headers.get('x-catalog-position'),
      };
    if (!ledger.countOutage(reply.status, reply.headers, text))
      ledger.addFailure(`${method} ${path}: ${reply.status} ${text}`);
  } catch (error) {
    ledger.addFailure(`${method} ${path}: ${String(error)}`);
  }
  await sleep(RETRY_AFTER_MS);
  return undefined;
}

/** Reads lists and listings like a storefront until the signal aborts. Returns the number of requests. */
export async function read(url: string, options: TrafficOptions): Promise<number> {
  const { token, ledger, listings, signal } = options;
  let responses = 0;
  for (; !signal.aborted; responses++) {
    const listing_id = listings[responses % listings.length]!;
    const paths = ['/api/publications?limit=50', `/api/listing/${listing_id}/publications`, '/api/listings'];
    const path = paths[responses % paths.length]!;
    try {
      const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      const text = await reply.text();
      if (!reply.ok && !ledger.countOutage(reply.status, reply.headers, text))
        ledger.addFailure(`GET ${path}: ${reply.status} ${text}`);
      await sleep(reply.ok ? READ_EVERY_MS : RETRY_AFTER_MS);
    } catch (error) {
      ledger.addFailure(`GET ${path}: ${String(error)}`);
      await sleep(RETRY_AFTER_MS);
    }
  }
  return responses;
}
