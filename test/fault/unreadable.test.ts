import { type DeadLetterInVersion, deadLetters } from '../../projections/maintenance/dead-letters';
import { verify } from '../../projections/maintenance/verify';
import { streamName } from '../../shared/catalog/events/envelope';
import { type Foreign, type OpenLog, openEventStoreDbLog, openSqliteLog } from '../support/foreign-events';
import { listingCreated, publicationCreated, publicationId, storeCreated, storeId } from '../support/history';
import { openRealm, type TestRealm } from '../support/realm';
import { waitFor } from '../support/wait-for';

const metadata = JSON.stringify({
  occurred_at: '2026-01-31T12:00:00.000Z',
  partition_key: storeId(0),
  source: 'system',
});
const no_fields = '{}';

/** Damaged events, one stream each. `PublicationDeleted` has no fields, so only its bytes can be wrong. */
const FOREIGN: Readonly<Record<string, Foreign>> = {
  'a payload that is not JSON': { data: 'deleted, Tuesday', metadata },
  'a payload that is a list': { data: '[]', metadata },
  'a payload that is text': { data: '"deleted"', metadata },
  'metadata that is not JSON': { data: no_fields, metadata: 'by hand' },
  'metadata that is null': { data: no_fields, metadata: 'null' },
  'metadata without a partition key': {
    data: no_fields,
    metadata: '{"occurred_at":"2026-01-31T12:00:00.000Z"}',
  },
  'a partition key that is a number': { data: no_fields, metadata: metadata.replace(`"${storeId(0)}"`, '7') },
  'an invalid time': { data: no_fields, metadata: metadata.replace('2026-01-31T12:00:00.000Z', 'Tuesday') },
};
const KINDS = Object.keys(FOREIGN);

describe.each([
  ['SQLite', openSqliteLog],
  ['EventStoreDB', openEventStoreDbLog],
])('a damaged event in the log on %s', (_, openLog) => {
  let log: OpenLog;
  let realm: TestRealm;

  beforeEach(async () => {
    log = await openLog();
    realm = await openRealm({ log: log.events });
  });
  afterEach(async () => {
    await realm.close();
    await log.close();
  });

  const listed = (): Promise<DeadLetterInVersion[]> => deadLetters({ views: realm.views });

  test('moves its own stream to the dead-letter list, and later events of other streams are projected', async () => {
    await realm.append(storeCreated(0), listingCreated(0), ...KINDS.map((_kind, n) => publicationCreated(n)));
    for (const [n, kind] of KINDS.entries())
      await log.write(
        streamName('live', 'publication', publicationId(n)),
        'PublicationDeleted',
        FOREIGN[kind]!,
      );
    const next = KINDS.length;
    await realm.append(publicationCreated(next));
    await realm.pipeline();

    const version = await waitFor(() => realm.active());
    await waitFor(() => version.get('publications', publicationId(next)));
    const streams = await waitFor(async () => {
      const found = await listed();
      return found.length >= KINDS.length && found;
    });
    expect(streams.map(({ stream, revision }) => [stream, revision]).sort()).toEqual(
      KINDS.map((_kind, n) => [streamName('live', 'publication', publicationId(n)), 1]).sort(),
    );
    for (const { reason } of streams) expect(reason).toContain('unreadable PublicationDeleted');
    // No publication was deleted by an unreadable event.
    const ids = KINDS.map((_kind, n) => publicationId(n));
    const shown = (await version.getMany('publications', ids)).filter(({ document }) => document);
    expect(shown.map(({ id }) => id).sort()).toEqual(ids);
    expect((await verify(realm.parts)).clean).toBe(true);
  });
});
