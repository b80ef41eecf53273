import { Cli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { endAll, startProcess } from '../support/processes';
import { isSignedWith, Receiver } from '../support/receiver';
import { withTempDir } from '../support/temp-dir';
import { Ledger, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

const KILLS = 10;
const SETTINGS = {
  DEMO: 'off',
  WEBHOOKS: 'private',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

afterEach(endAll);

/** A copy of the publications that a merchant keeps by the messages of a webhook. */
class Copy {
  readonly titles = new Map<string, string>();
  private readonly revisions = new Map<string, number>();
  readonly disorder: string[] = [];

  /** Messages may come again, but not before an earlier change of the same resource. */
  apply({ resource_id, revision, type, changed }: Change): void {
    const known = this.revisions.get(resource_id) ?? 0;
    if (known === 0 && type !== 'publication.created') this.disorder.push(`${type} of ${resource_id} first`);
    if (revision <= known) return;
    this.revisions.set(resource_id, revision);
    if (type.endsWith('.deleted')) this.titles.delete(resource_id);
    else if (changed.title) this.titles.set(resource_id, String(changed.title.after));
  }
}

interface Change {
  readonly resource_id: string;
  readonly revision: number;
  readonly type: string;
  readonly changed: Record<string, { readonly after: unknown }>;
}

test('a copy by webhook is complete after a rebuild and kill -9 during writes, with a receiver that refuses half of the messages', () =>
  withTempDir(async (folder) => {
    const settings = { ...SETTINGS, DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const receiver = await Receiver.start();
    const copy = new Copy();
    let refused = 0;
    receiver.answer = ({ data }) => {
      if (refused++ % 2 === 0) return { status: 503 };
      copy.apply(data);
      return { status: 200 };
    };
    const ledger = new Ledger();
    let webhook: { id: string; secret: string } | undefined;
    const listings: string[] = [];
    const call = async (url: string, token: string, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const reply = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) ?? null });
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
      return ((await reply.json()) as { data: any }).data;
    };
    for (let kill = 0; kill < KILLS; kill++) {
      const running = await startProcess('services/boot/main.js', settings);
      const token = await fetchToken(running.url, key);
      const url = receiver.url;
      const events = ['created', 'updated', 'deleted'].map((verb) => ({ type: `publication.${verb}` }));
      webhook ??= await call(running.url, token, 'POST', '/api/webhook', { url, events });
      if (listings.length === 0)
        listings.push((await call(running.url, token, 'POST', '/api/listing', { name: 'Tea' })).id);
      const stopping = new AbortController();
      const options = { token, ledger, listings, signal: stopping.signal };
      const writers = ['a', 'b'].map((name) => write(`${name}${kill}`, running.url, options));
      const written = ledger.acknowledged;
      const sent = receiver.received.length;
      if (kill === 0)
        expect(await new Cli(folder, settings).run('projections', 'rebuild')).toMatchObject({ code: 0 });
      await waitFor(() => ledger.acknowledged > written + 10 && receiver.received.length > sent + 10);
      await running.end('SIGKILL');
      stopping.abort();
      await Promise.all(writers);
    }

    const running = await startProcess('services/boot/main.js', settings);
    const token = await fetchToken(running.url, key);
    receiver.answer = ({ data }) => {
      copy.apply(data);
      return { status: 200 };
    };
    // What was refused is due in minutes. An active webhook that is activated again tries it at once.
    for (const status of ['paused', 'active'])
      await call(running.url, token, 'PATCH', `/api/webhook/${webhook!.id}`, { status });
    const shown = async () => {
      const titles = new Map<string, string>();
      for (let page = 1; ; page++) {
        const data: { id: string; title: string }[] = await call(
          ...([running.url, token, 'GET', `/api/publications?limit=50&page=${page}`] as const),
        );
        for (const { id, title } of data) titles.set(id, title);
        if (data.length < 50) return titles;
      }
    };
    const sorted = (titles: Map<string, string>) => [...titles].sort();
    await waitFor(async () => JSON.stringify(sorted(copy.titles)) === JSON.stringify(sorted(await shown())), {
      what: 'the copy to be complete',
    });
    expect(copy.disorder).toEqual([]);
    expect(copy.titles.size).toBeGreaterThan(KILLS);
    expect(receiver.received.every((message) => isSignedWith(webhook!.secret, message))).toBe(true);
    expect(await running.end('SIGTERM')).toBe(0);
    receiver.close();
  }));
