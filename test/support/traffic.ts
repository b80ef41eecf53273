import { setTimeout as sleep } from 'node:timers/promises';

/** After an answer that was none. */
const REST_MS = 50;

/** A publication as the last acknowledged write of it left it. */
export interface Written {
  readonly id: string;
  readonly listing_id: string;
  readonly title: string;
  readonly price_amount: number;
  readonly created_at: string;
  readonly deleted: boolean;
}

/** What writers were told, which is what must be there in the end. */
export class Ledger {
  readonly publications = new Map<string, Written>();
  /** Answers that nobody should get, and connections that broke. */
  readonly failures: string[] = [];
  /** Answers that a server which is away excuses: `503`, or `500 DATABASE_TIMEOUT`, with `Retry-After`. */
  outages = 0;
  /** Those outages that were creations: each may have been stored all the same. */
  perhaps_created = 0;
  /** Publications of which a change was answered so: the change may have been stored or not. */
  readonly uncertain = new Set<string>();
  acknowledged = 0;
  /** Of the newest acknowledged write. */
  position = 0n;

  /** False where the answer has no excuse. */
  excuse(status: number, headers: Headers, text: string): boolean {
    const away = status === 503 || (status === 500 && text.includes('DATABASE_TIMEOUT'));
    if (!away || !headers.has('retry-after')) return false;
    this.outages += 1;
    return true;
  }

  note(written: Written, position: string | null): void {
    this.publications.set(written.id, written);
    this.acknowledged += 1;
    if (position !== null && BigInt(position) > this.position) this.position = BigInt(position);
  }

  /** What a listing shows, oldest first, ties broken by id. */
  ofListing(listing_id: string): Written[] {
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

/** Creates, changes, moves and deletes publications of its own, one after the other, until told to stop. */
export async function write(name: string, url: string, options: TrafficOptions): Promise<void> {
  const { ledger, listings, signal } = options;
  const mine: string[] = [];
  for (let turn = 0; !signal.aborted; turn++) {
    const listing_id = listings[turn % listings.length]!;
    const id = mine[turn % mine.length];
    if (id === undefined || turn % 3 !== 0) {
      const title = `${name} ${turn}`;
      const fields = { title, listing_id, price_currency: 'USD', price_amount: turn };
      const created = await send(url, 'POST', '/api/publication', fields, options);
      if (created) mine.push(noteResource(ledger, created, listing_id));
      else ledger.perhaps_created += 1;
    } else if (turn % 9 === 0) {
      const answer = await send(url, 'DELETE', `/api/publication/${id}`, undefined, options);
      mine.splice(mine.indexOf(id), 1);
      if (answer) ledger.note({ ...ledger.publications.get(id)!, deleted: true }, answer.position);
      else ledger.uncertain.add(id);
    } else {
      const fields = { title: `${name} ${turn} again`, listing_id, price_amount: turn * 2 };
      const changed = await send(url, 'PATCH', `/api/publication/${id}`, fields, options);
      if (changed) noteResource(ledger, changed, listing_id);
      else {
        ledger.uncertain.add(id);
        mine.splice(mine.indexOf(id), 1);
      }
    }
  }
}

interface Answer {
  readonly data: Omit<Written, 'listing_id' | 'deleted'>;
  readonly position: string | null;
}

function noteResource(ledger: Ledger, { data, position }: Answer, listing_id: string): string {
  const { id, title, price_amount, created_at } = data;
  ledger.note({ id, listing_id, title, price_amount, created_at, deleted: false }, position);
  return id;
}

/** Every other write does not wait to be projected. */
let sent = 0;

async function send(
  url: string,
  method: string,
  path: string,
  fields: unknown,
  { token, ledger }: TrafficOptions,
): Promise<Answer | undefined> {
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
        data: JSON.parse(text).data as Answer['data'],
        position: reply.headers.get('x-catalog-position'),
      };
    if (!ledger.excuse(reply.status, reply.headers, text))
      ledger.failures.push(`${method} ${path}: ${reply.status} ${text}`);
  } catch (error) {
    ledger.failures.push(`${method} ${path}: ${String(error)}`);
  }
  await sleep(REST_MS);
  return undefined;
}

/** Reads lists and listings as a storefront does, until told to stop; gives how many answers there were. */
export async function read(url: string, options: TrafficOptions): Promise<number> {
  const { token, ledger, listings, signal } = options;
  let answers = 0;
  for (; !signal.aborted; answers++) {
    const listing_id = listings[answers % listings.length]!;
    const paths = ['/api/publications?limit=50', `/api/listing/${listing_id}/publications`, '/api/listings'];
    const path = paths[answers % paths.length]!;
    try {
      const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      const text = await reply.text();
      if (!reply.ok && !ledger.excuse(reply.status, reply.headers, text))
        ledger.failures.push(`GET ${path}: ${reply.status} ${text}`);
      if (!reply.ok) await sleep(REST_MS);
    } catch (error) {
      ledger.failures.push(`GET ${path}: ${String(error)}`);
    }
  }
  return answers;
}
