import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cli, InProcessCli } from '../api/cli-run';
import { type Answers, unpackDataFolder } from '../fixtures/data-folder';
import { fetch } from '../support/fetch';
import { fetchToken } from '../support/merchant';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * A data folder that an earlier release wrote: log, documents, keys, pictures. Each test uses a fresh copy, because
 * reads with a public key count views.
 */
const SETTINGS = {
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

afterEach(endAll);

async function withOldFolder(
  story: (old: {
    known: Answers;
    cli: Cli;
    folder: string;
    start: () => ReturnType<typeof startProcess>;
  }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (folder) => {
    const { data_dir, ...known } = unpackDataFolder(folder);
    const settings = { ...SETTINGS, DATA_DIR: data_dir };
    const start = () => startProcess('services/boot/main.js', settings);
    await story({ known, folder: data_dir, cli: new InProcessCli(data_dir, { LOG_LEVEL: 'silent' }), start });
  });
}

/** Runs a command. Throws with its output if it fails. */
async function succeed(cli: Cli, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await cli.run(...args);
  if (code !== 0) throw new Error(`"catalog ${args.join(' ')}" exited with ${code}:\n${stderr}${stdout}`);
}

/**
 * Rebuilds the documents if this release has another format, declares another VIEW_SCHEMA or has other keys. Otherwise keeps the stored ones,
 * so that `verify` finds documents that this release projects differently although VIEW_SCHEMA is the same.
 */
async function rebuildIfSchemaDiffers(cli: Cli): Promise<void> {
  const { realms } = await cli.json('projections', 'status');
  const versions = realms.flatMap(
    (realm: { versions: { status: string; fed: boolean }[] }) => realm.versions,
  );
  const active = versions.filter(({ status }: { status: string }) => status === 'active');
  const are_read = active.length === 3 && active.every(({ fed }: { fed: boolean }) => fed);
  if (!are_read) await succeed(cli, 'projections', 'rebuild');
}

async function tokensOf(url: string, keys: Answers['keys']): Promise<Record<string, string>> {
  const tokens: Record<string, string> = {};
  for (const [name, key] of Object.entries(keys)) tokens[name] = await fetchToken(url, key);
  return tokens;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read freely
type Json = any;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

function contentOf({ data, meta }: Json): string {
  return JSON.stringify(data) + (meta === undefined ? '{}' : JSON.stringify({ meta }));
}

/**
 * Returns the ETag of a recorded answer as today's release makes it, whose answer is `today`. The old release hashed view
 * counts as well, so that every view invalidated cached lists. Checks that the old ETag hashes the recorded content.
 */
function etagToday({ etag, body }: Answers['answers'][number], today: Json): string | null {
  if (etag === null) return null;
  const old = hashOf(contentOf(JSON.parse(body)));
  expect(etag).toContain(old);
  return etag.replace(old, hashOf(contentOf(today).replace(/"view_count":\d+/g, '"view_count":0')));
}

/**
 * Returns the answer as JSON without what today's release has added (cursors, the ids of the listing and of the media,
 * the rating of a publication) and without the `url` of expanded media, for which the old release had no list.
 */
function withoutAdditions(body: string): Json {
  return JSON.parse(body, (key, value: Json) => {
    if (key === 'listing_id' || key === 'media_ids' || key === 'next_cursor') return undefined;
    if (key === 'rating' && typeof value === 'object') return undefined;
    if (key === 'media' && value?.object === 'collection') return { ...value, url: undefined };
    return value;
  });
}

/** The old release showed a storefront all media of the store, also those that no public resource uses. */
function withoutHiddenMedia(answer: Json, shown: ReadonlySet<string>): Json {
  const { media, object } = answer.data ?? {};
  if (object !== 'store' || media === undefined) return answer;
  const data = media.data.filter(({ id }: Json) => shown.has(id));
  return { ...answer, data: { ...answer.data, media: { ...media, data, total_count: data.length } } };
}

/** Returns the ids of the media in the expansions of public publications and listings. */
function mediaOfPublicResources({ answers }: Answers): ReadonlySet<string> {
  const resources = answers.flatMap(({ body }): Json[] => [(JSON.parse(body) as Json).data].flat());
  const shown = resources.filter((resource) => resource?.visibility === 'public' && resource.media);
  return new Set(shown.flatMap(({ media }) => media.data.map(({ id }: Json) => id)));
}

function sortById(items: { id: string }[]): void {
  items.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Sends all recorded requests and expects the recorded answers. Returns the number of answers. */
async function expectSameAnswers(url: string, known: Answers): Promise<number> {
  const { keys, answers } = known;
  const tokens = await tokensOf(url, keys);
  const shown = mediaOfPublicResources(known);
  for (const answer of answers) {
    const { key, path, status } = answer;
    const recorded = withoutAdditions(answer.body);
    const expected = path.includes('visibility=all') ? recorded : withoutHiddenMedia(recorded, shown);
    const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${tokens[key]}` } });
    const body = await reply.text();
    // The old release had no version in the ETag of a store.
    const tag = reply.headers.get('etag')?.replace(/^"\d+-/, path.startsWith('/api/store') ? '"' : '$&');
    const found = { status: reply.status, etag: tag ?? null, body: withoutAdditions(body) };
    const etag = etagToday(answer, JSON.parse(body));
    // The order of related publications has changed: the old release gave the words of a title more weight.
    if (path.includes('/related')) for (const page of [found.body, expected]) sortById(page.data);
    expect({ key, path, ...found }).toEqual({ key, path, status, etag, body: expected });
  }
  return answers.length;
}

/** Returns a hash of each file of a folder that a release may make again: the files of documents and of repeated writes. */
function disposableFiles(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const disposable = names.filter((name) => /(views[^/]*|idempotency)\.sqlite$/.test(name));
  return Object.fromEntries(
    disposable.map((name) => [name, hashOf(readFileSync(join(folder, name), 'latin1'))]),
  );
}

/** Returns the paths of all pictures in the answers. */
function picturesIn(answers: Answers['answers']): string[] {
  const found = answers.flatMap(({ body }) => body.match(/\/media\/(?:live|test)\/[0-9a-f]{64}\.\w+/g) ?? []);
  return [...new Set(found)];
}

test('an old data folder opens, and its documents equal a fold of its log', () =>
  withOldFolder(async ({ cli }) => {
    await rebuildIfSchemaDiffers(cli);
    await succeed(cli, 'projections', 'verify');
    await succeed(cli, 'upgrade', '--check');
  }));

test('a service on an old data folder makes documents of its own, gives the recorded answers, projects a new write, and leaves the files of the earlier release to it', () =>
  withOldFolder(async ({ known, cli, folder, start }) => {
    const before = disposableFiles(folder);
    expect(Object.keys(before)).toHaveLength(7);
    const { url, faults, end } = await start();
    await waitFor(async () => (await fetch(`${url}/health/ready`)).status === 200, { what: 'the documents' });
    expect(await expectSameAnswers(url, known)).toBeGreaterThan(100);
    const pictures = picturesIn(known.answers);
    expect(pictures.length).toBeGreaterThan(5);
    for (const path of pictures) {
      const bytes = Buffer.from(await (await fetch(`${url}${path}`)).arrayBuffer());
      expect(path).toContain(createHash('sha256').update(bytes).digest('hex'));
    }

    const authorization = `Bearer ${(await tokensOf(url, known.keys)).secret}`;
    const publication = known.answers.find(
      ({ path, status }) => /publication\/[^/]+$/.test(path) && status === 200,
    );
    const path = publication!.path.replace(/\?.*/, '');
    const headers = { authorization, 'content-type': 'application/json' };
    const changes = { title: 'Written today', price_amount: 77 };
    const patched = await fetch(`${url}${path}`, { method: 'PATCH', headers, body: JSON.stringify(changes) });
    expect(patched.status).toBe(200);
    await waitFor(async () => {
      const read = await fetch(`${url}${path}?visibility=all`, { headers });
      return ((await read.json()) as { data: { title: string } }).data.title === changes.title;
    });
    expect(faults).toEqual([]);
    expect(await end('SIGTERM')).toBe(0);
    await succeed(cli, 'projections', 'verify');
    expect(disposableFiles(folder)).toMatchObject(before);
    // Reads with a public key count views, in events that the earlier release does not know.
    const check = await cli.run('upgrade', '--check');
    expect(check).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/live +PageViewsCounted +\d+ +20/),
    });
  }));
