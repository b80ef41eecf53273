import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { allEventDefinitions, decodeEvent } from '../../shared/catalog/events/codec';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { withCorrections } from '../../shared/ports/corrections';
import { InProcessCli } from '../api/cli-run';
import {
  eventsOf,
  missingTypes,
  type RecordedAnswers,
  readAnswers,
  readLogFile,
  recordedVersions,
  VERSION,
} from '../fixtures/recorded-log';
import { fetch } from '../support/fetch';
import { fetchToken } from '../support/merchant';
import { withTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, within } from '../support/wait-for';

/* The logs that each version of the service has written, on this release. */

const SETTINGS = {
  PORT: '0',
  DEMO: 'off',
  LOG_LEVEL: 'silent',
  WEBHOOKS: 'off',
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  // The answers count the views before they were recorded.
  VIEW_FLUSH_INTERVAL_S: '86400',
};

/** Sends the recorded requests, and expects the recorded answers. A later release may have added fields. */
async function expectAnswers(url: string, { keys, answers }: RecordedAnswers): Promise<void> {
  const tokens = {
    public: await fetchToken(url, keys.public),
    secret: await fetchToken(url, keys.secret),
  };
  for (const { key, path, status, body } of answers) {
    const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${tokens[key]}` } });
    const found = { key, path, status: reply.status, body: await reply.json() };
    expect(found).toMatchObject({ key, path, status, body });
  }
}

const streamIn = (events: readonly RecordedEvent[], name: string, from: number): RecordedEvent[] =>
  events.filter(({ stream, revision }) => stream === name && revision >= from);

test.each(recordedVersions())(
  'the log of %s is imported, projected, and read as when it was recorded',
  (version) =>
    withTempDir(async (folder) => {
      const text = readLogFile(version);
      const events = eventsOf(text);
      const log = { readStream: async (name: string, from = 0) => streamIn(events, name, from) };
      for (const event of await withCorrections(log, events)) decodeEvent(event);

      const file = join(folder, 'log.jsonl');
      writeFileSync(file, text);
      const data_dir = join(folder, 'data');
      const cli = new InProcessCli(data_dir, { LOG_LEVEL: 'silent' });
      expect(await cli.json('events', 'import', file)).toMatchObject({ appended: events.length });
      expect(await cli.json('projections', 'dead-letters')).toMatchObject({ dead_letters: [] });
      const config = parseConfig({ ...SETTINGS, DATA_DIR: data_dir });
      const service = await startAllInOne(config, pino({ level: 'silent' }));
      try {
        expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
        await expectAnswers(service.url, readAnswers(version));
      } finally {
        await within(service.close(), 'the service to stop');
      }

      // Exits with 1, because the files of the pictures are not in a log.
      const { stdout } = await cli.run('projections', 'verify', '--json');
      const verified = JSON.parse(stdout).realms.map(({ realm, clean }: Record<string, unknown>) => [
        realm,
        clean,
      ]);
      expect(verified).toEqual(['control', 'live', 'test'].map((realm) => [realm, true]));
    }),
);

test('the log of this version has events of every type and version that this release appends', () => {
  const remedy = 'Run "npm run record-log" and commit the files.';
  if (!recordedVersions().includes(VERSION)) throw new Error(`No log of ${VERSION} is recorded. ${remedy}`);
  const missing = missingTypes(readLogFile(VERSION), allEventDefinitions);
  if (missing.length > 0) throw new Error(`The log of ${VERSION} has no ${missing.join(', ')}. ${remedy}`);
});
