import { randomUUID } from 'node:crypto';
import { Gate } from './gate';
import { type Harness, type Reply, type Shop, startHarness } from './harness';
import { ownNames, serversForTests } from './own-servers';
import { FAILS_WITHIN_MS, waitFor } from './wait-for';

/** The service on servers that tests share, each behind a gate. */
export interface GatedHarness {
  readonly harness: Harness;
  readonly gates: Gates;
  flushRedis(): Promise<void>;
  close(): Promise<void>;
}

export interface Gates {
  readonly event_store: Gate;
  readonly redis: Gate;
  readonly mongo: Gate;
}

const NAMES = { event_store: 'EVENTSTORE_URL', redis: 'REDIS_URL', mongo: 'MONGODB_URL' } as const;

export async function startGatedHarness(): Promise<GatedHarness> {
  const { gates, settings, flushRedis, dispose } = await gatedServers();
  // The servers are cleaned up here, past the gates, and not by the harness.
  const servers = { settings, flushRedis, dispose: async () => {} };
  const harness = await startHarness({ servers, waits_for_late: false });
  const close = async (): Promise<void> => {
    await harness.close();
    for (const gate of Object.values(gates)) await gate.shut();
    await dispose();
  };
  return { harness, gates, flushRedis, close };
}

/** Returns settings with names that no other test uses, and addresses that lead through open gates. */
export async function gatedServers() {
  const names = ownNames(serversForTests());
  const settings: Record<string, string> = { ...names.settings };
  const gates = {} as Record<keyof typeof NAMES, Gate>;
  for (const [server, name] of Object.entries(NAMES) as [keyof typeof NAMES, string][]) {
    gates[server] = new Gate(settings[name]!);
    await gates[server].open();
    settings[name] = gates[server].through(settings[name]!);
  }
  const { flushRedis, dispose } = names;
  return { gates: gates as Gates, settings, flushRedis, dispose };
}

export interface Timed extends Reply {
  readonly ms: number;
}

/** Sends the requests of one shop's clients and measures their response times. */
export class Client {
  private count = 0;

  constructor(
    private readonly harness: Harness,
    readonly shop: Shop,
  ) {}

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Timed> {
    const token = (method === 'GET' ? this.shop.public : this.shop.secret).token;
    const began_ms = performance.now();
    const reply = await this.harness.request(method, path, {
      ...{ token, headers },
      ...(body === undefined ? {} : { body }),
    });
    return { ...reply, ms: performance.now() - began_ms };
  }

  /** Sends a request again if a busy machine has not answered it in time. A write is done once. */
  answered(method: string, path: string, body?: unknown): Promise<Timed> {
    const headers = { 'idempotency-key': randomUUID() };
    return waitFor(
      async () => {
        const reply = await this.send(method, path, body, headers);
        return !reply.headers.has('retry-after') && reply;
      },
      { what: `${method} ${path}`, timeout_ms: FAILS_WITHIN_MS },
    );
  }

  write(title = `product ${++this.count}`): Promise<Timed> {
    return this.send('POST', '/api/publication', { title, price_currency: 'USD', price_amount: 100 });
  }

  read(id: string): Promise<Timed> {
    return this.send('GET', `/api/publication/${id}`);
  }

  async total(): Promise<number> {
    return (await this.send('GET', '/api/publications?limit=1')).body.meta.item_count;
  }

  ready(): Promise<Reply> {
    return this.harness.request('GET', '/health/ready');
  }
}
