import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { runPool } from '../../services/command/pool';
import { fetch } from '../support/fetch';
import { runs, SEED } from '../support/long';
import { createKeys, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { Dice, type RawCase, RawRequests } from '../support/raw-requests';
import { withTempDir } from '../support/temp-dir';
import { FAILS_WITHIN_MS, waitFor } from '../support/wait-for';

/*
 * Random requests over raw connections: no 5xx, no connection that is left open, no file descriptor and no memory that
 * stays.
 */

const REQUESTS = runs(300, 10_000);
/** Fills caches whose size has a limit, such as those of statements, tokens and documents. */
const WARM_UP_REQUESTS = 400;
const CONNECTIONS = 48;
/** More than lie between the snapshots of a stream (`SNAPSHOT_EVERY`). */
const LONG_STREAM_EVENTS = 300;
/** Memory that may stay in use after all requests. */
const GROWTH_BYTES_MAX = 5_000_000;
/** Limit for the response to a complete request, and for the end of a connection that the client has half closed. */
const ANSWER_MS = FAILS_WITHIN_MS;
/** How long the client waits for a response to bytes that may be incomplete before it closes its side. */
const QUIET_MS = 100;
/** The same after a first response, because others may follow. */
const NEXT_MS = 4;

afterEach(endAll);

interface Outcome {
  readonly statuses: readonly number[];
  /** What is wrong, if anything is. */
  readonly fault?: string;
}

/** Sends a case on a connection of its own. Resolves when the connection has ended. */
function send(port: number, { pieces, then, is_complete }: RawCase): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    let phase: 'sending' | 'waiting' | 'ending' | 'ended' = 'sending';
    let timer: NodeJS.Timeout | undefined;
    const statuses = (): number[] =>
      [...text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)]
        .map(([, status]) => Number(status))
        .filter((status) => status >= 200);
    const after = (ms: number, next: () => void): void => {
      clearTimeout(timer);
      if (phase !== 'ended') timer = setTimeout(next, ms);
    };
    const finish = (fault?: string): void => {
      phase = 'ended';
      clearTimeout(timer);
      socket.destroy();
      const found = statuses();
      const failed = found.find((status) => status >= 500);
      const problem = failed === undefined ? fault : `answered ${failed}: ${text.slice(-500)}`;
      resolve({ statuses: found, ...(problem === undefined ? {} : { fault: problem }) });
    };
    const closeOwnSide = (): void => {
      phase = 'ending';
      socket.end();
      after(ANSWER_MS, () =>
        finish(`connection still open ${ANSWER_MS} ms after the client closed its side`),
      );
    };
    socket.on('data', (chunk: Buffer) => {
      // Only heads are looked at. The body of a picture could be long.
      if (text.length < 1_000_000) text += chunk.toString('latin1');
      if (phase === 'waiting' && is_complete && statuses().length > 0) closeOwnSide();
      else if (phase === 'waiting') after(statuses().length > 0 ? NEXT_MS : QUIET_MS, closeOwnSide);
    });
    socket.on('error', () => {});
    socket.on('close', () => finish());
    socket.on('connect', async () => {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await new Promise((next) => setTimeout(next, 2));
        socket.write(piece);
      }
      if (then === 'leave') {
        socket.resetAndDestroy();
        return;
      }
      if (phase !== 'sending') return;
      phase = 'waiting';
      if (!is_complete) after(QUIET_MS, closeOwnSide);
      else if (statuses().length > 0) closeOwnSide();
      else after(ANSWER_MS, () => finish(`no response within ${ANSWER_MS} ms`));
    });
  });
}

/** The status of every response. */
const seen = new Set<number>();

/** Sends the cases `from` to `to` of the seed. Throws at the first fault. */
async function sendCases(port: number, requests: RawRequests, from: number, to: number): Promise<void> {
  let next = from;
  let failed: string | undefined;
  const connection = async (): Promise<void> => {
    while (next < to && failed === undefined) {
      const n = next++;
      const one = requests.make(new Dice(SEED ^ Math.imul(n, 0x9e3779b9)));
      const { statuses, fault } = await send(port, one);
      for (const status of statuses) seen.add(status);
      if (fault === undefined) continue;
      const bytes = Buffer.concat(one.pieces).toString('latin1').slice(0, 4_000);
      failed ??= `case ${n}: ${fault}\nbytes: ${JSON.stringify(bytes)}`;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  if (failed !== undefined) throw new Error(failed);
}

/** Creates what the requests refer to, and a stream so long that its snapshot opens the file of the snapshots. */
async function fillShop({ url }: RunningProcess, token: string): Promise<string[]> {
  type Body = string | Uint8Array<ArrayBuffer>;
  const write = async (method: string, path: string, body: Body, type = 'application/json') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type, prefer: 'respond-async' };
    const reply = await fetch(`${url}${path}`, { method, headers, body });
    expect([200, 201]).toContain(reply.status);
    return ((await reply.json()) as { data: { id: string } }).data.id;
  };
  const picture = new Uint8Array(await flatPicture('png', { width: 4, height: 4 }));
  const media_id = await write('POST', '/api/media', picture, 'image/png');
  const ids = [media_id];
  for (let n = 0; n < 12; n++) {
    const listing_id = await write('POST', '/api/listing', JSON.stringify({ name: `Tea ${n}` }));
    const publication = {
      title: `Tea ${n}`,
      price_currency: 'EUR',
      price_amount: 100 + n,
      listing_id,
      media_ids: [media_id],
    };
    ids.push(listing_id, await write('POST', '/api/publication', JSON.stringify(publication)));
  }
  await runPool(Array(LONG_STREAM_EVENTS).keys(), 20, async (n) => {
    await write('PATCH', `/api/listing/${ids[1]}`, JSON.stringify({ name: `Tea ${n}` }));
  });
  const media = await waitFor(async () => {
    const reply = await fetch(`${url}/api/media/${media_id}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await reply.json()) as { data: { status: string; url: string } };
    return data.status === 'ready' ? data : undefined;
  });
  return [...ids, 'live', media.url.split('/').at(-1)!];
}

test(`${REQUESTS} random requests are answered without 5xx, and leave no connection, descriptor or memory`, () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const report_file = join(folder, 'memory');
    const rates = {
      RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
      RATE_LIMIT_SECRET: '1000000/100000000/1000000',
      RATE_LIMIT_AUTH: '100000/100000',
    };
    const keys = await createKeys(settings);
    const running = await startProcess(
      'services/boot/main.js',
      { ...settings, ...rates, MEMORY_REPORT_FILE: report_file },
      { node_arguments: ['--expose-gc', '--require', join(__dirname, '../support/report-memory.js')] },
    );
    const port = Number(new URL(running.url).port);
    const pid = running.child.pid!;
    const token = await fetchToken(running.url, keys.secret);
    const ids = await fillShop(running, token);
    const document = await (await fetch(`${running.url}/openapi.json`)).json();
    const requests = new RawRequests({
      document,
      ids,
      api_keys: [keys.secret, keys.public, `pk_live_${'a'.repeat(43)}`],
      authorizations: [
        ...['', `Bearer ${keys.secret}`, 'Bearer a.b.c'],
        ...Array<string>(5).fill(`Bearer ${token}`),
        ...Array<string>(2).fill(`Bearer ${await fetchToken(running.url, keys.public)}`),
      ],
      picture: await flatPicture('png', { width: 4, height: 4 }),
    });
    const descriptors = (): number => readdirSync(`/proc/${pid}/fd`).length;
    let reports = 0;
    const usedBytes = async (): Promise<number> => {
      reports++;
      running.child.kill('SIGUSR2');
      return waitFor(readReport, { what: 'a report of the memory' });
    };
    const readReport = (): number | undefined => {
      const [n, bytes] = readFileSync(report_file, 'utf8').split(' ').map(Number);
      return n === reports ? bytes : undefined;
    };

    await sendCases(port, requests, 0, WARM_UP_REQUESTS);
    const descriptors_before = descriptors();
    const bytes_before = await usedBytes();
    await sendCases(port, requests, WARM_UP_REQUESTS, WARM_UP_REQUESTS + REQUESTS);

    // Both kinds of requests were made: some that reach a handler, and some that the parser or a stage refuses.
    for (const status of [200, 400, 401, 403, 404, 405]) expect(seen).toContain(status);
    await waitFor(() => descriptors() <= descriptors_before, {
      what: `at most ${descriptors_before} open files`,
    });
    let bytes_after = 0;
    await waitFor(
      async () => {
        bytes_after = await usedBytes();
        return bytes_after - bytes_before < GROWTH_BYTES_MAX;
      },
      { what: `less than ${GROWTH_BYTES_MAX} bytes more than ${bytes_before}` },
    ).catch((error: Error) => {
      throw new Error(`${error.message}; found ${bytes_after}`);
    });
    expect(running.faults.slice(0, 3)).toEqual([]);
    const headers = { authorization: `Bearer ${await fetchToken(running.url, keys.secret)}` };
    expect((await fetch(`${running.url}/api/store`, { headers })).status).toBe(200);
    expect(await running.end('SIGTERM')).toBe(0);
  }));
