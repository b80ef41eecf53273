import { createHash } from 'node:crypto';
import { Cli } from '../api/cli-run';
import { type Answers, unpackDataFolder } from '../fixtures/data-folder';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';

/*
 * A data folder that an earlier release wrote: log, documents, keys, pictures. Reads with a public key count views, so
 * what is asked of it again is asked of a fresh copy.
 */
const SETTINGS = {
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

afterEach(endAll);

async function withOldFolder(
  story: (old: { known: Answers; cli: Cli; start: () => ReturnType<typeof startProcess> }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (folder) => {
    const { data_dir, ...known } = unpackDataFolder(folder);
    const settings = { ...SETTINGS, DATA_DIR: data_dir };
    const start = () => startProcess('services/boot/main.js', settings);
    await story({ known, cli: new Cli(data_dir, { LOG_LEVEL: 'silent' }), start });
  });
}

async function tokensOf(url: string, keys: Answers['keys']): Promise<Record<string, string>> {
  const tokens: Record<string, string> = {};
  for (const [name, key] of Object.entries(keys)) {
    const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
    tokens[name] = ((await reply.json()) as { data: { token: string } }).data.token;
  }
  return tokens;
}

/** Asks everything again. Returns the number of answers; each is the very same as before. */
async function expectSameAnswers(url: string, { keys, answers }: Answers): Promise<number> {
  const tokens = await tokensOf(url, keys);
  for (const { key, path, status, etag, body } of answers) {
    const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${tokens[key]}` } });
    const found = { status: reply.status, etag: reply.headers.get('etag'), body: await reply.text() };
    // Compared as JSON first, so that a difference is shown field by field.
    expect({ key, path, body: JSON.parse(found.body) }).toEqual({ key, path, body: JSON.parse(body) });
    expect({ key, path, ...found }).toEqual({ key, path, status, etag, body });
  }
  return answers.length;
}

/** The addresses of all pictures that the answers name. */
function picturesIn(answers: Answers['answers']): string[] {
  const found = answers.flatMap(({ body }) => body.match(/\/media\/(?:live|test)\/[0-9a-f]{64}\.\w+/g) ?? []);
  return [...new Set(found)];
}

test('it opens, its documents agree with its log, and it answers as before', () =>
  withOldFolder(async ({ known, cli, start }) => {
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
    const { url, faults, end } = await start();
    expect(await expectSameAnswers(url, known)).toBeGreaterThan(100);

    const pictures = picturesIn(known.answers);
    expect(pictures.length).toBeGreaterThan(5);
    for (const path of pictures) {
      const bytes = Buffer.from(await (await fetch(`${url}${path}`)).arrayBuffer());
      expect(path).toContain(createHash('sha256').update(bytes).digest('hex'));
    }
    expect(faults).toEqual([]);
    expect(await end('SIGTERM')).toBe(0);
  }));

test('after a rebuild its documents agree with its log, and it answers as before', () =>
  withOldFolder(async ({ known, cli, start }) => {
    expect(await cli.run('projections', 'rebuild')).toMatchObject({ code: 0 });
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
    const { url, end } = await start();
    await expectSameAnswers(url, known);
    expect(await end('SIGTERM')).toBe(0);
  }));

test('its history continues: what is written now is read, and agrees with the log', () =>
  withOldFolder(async ({ known, cli, start }) => {
    const { url, end } = await start();
    const authorization = `Bearer ${(await tokensOf(url, known.keys)).secret}`;
    const publication = known.answers.find(
      ({ path, status }) => /publication\/[^/]+$/.test(path) && status === 200,
    );
    const path = publication!.path.replace(/\?.*/, '');
    const headers = { authorization, 'content-type': 'application/json' };
    const patched = await fetch(`${url}${path}`, {
      ...{ method: 'PATCH', headers },
      body: JSON.stringify({ title: 'Written today', price_amount: 77 }),
    });
    expect(patched.status).toBe(200);
    const read = await fetch(`${url}${path}?visibility=all`, { headers });
    expect(((await read.json()) as { data: object }).data).toMatchObject({
      ...{ title: 'Written today', price_amount: 77 },
    });
    expect(await end('SIGTERM')).toBe(0);
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  }));
