import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { parseConfig } from '../../shared/kernel/config';
import { InProcessCli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { createListing, createSecretKey, fetchToken, waitForListings } from '../support/merchant';
import { ownNames, serversOfEnvironment } from '../support/own-servers';
import { readinessOf } from '../support/readiness';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

/* On the embedded stores, or on the servers in EVENTSTORE_URL, REDIS_URL and MONGODB_URL. */

const running: Service[] = [];
const stopAll = (): Promise<unknown> =>
  within(Promise.all(running.splice(0).map((service) => service.close())), 'the services to stop');
afterEach(stopAll);

test('nothing is projected from a pause until its end, by no worker, and also after restarts', async () => {
  await withTempDir(async (folder) => {
    const servers = ownNames(serversOfEnvironment());
    const settings = { DEMO: 'off', PORT: '0', LOG_LEVEL: 'silent', ...servers.settings, DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const start = async (): Promise<Service> => {
      const service = await startAllInOne(parseConfig(settings), pino({ level: 'silent' }));
      running.push(service);
      return service;
    };
    let [one, other] = await Promise.all([start(), start()]);
    const token = await fetchToken(one.url, key);
    const cli = new InProcessCli(folder, settings);
    const write = (name: string): Promise<string> => createListing(one.url, token, name);
    const read = (id: string) =>
      fetch(`${other.url}/api/listing/${id}`, { headers: { authorization: `Bearer ${token}` } });
    const statusOf = async (id: string): Promise<number> => (await read(id)).status;
    /** What a read says about how new its documents are. */
    const freshnessOf = async (id: string) => {
      const { headers } = await read(id);
      return ['position', 'lag-ms'].map((name) => Number(headers.get(`x-catalog-${name}`) ?? Number.NaN));
    };
    const healthOf = async (service: Service) => {
      const { status, live, control } = await readinessOf(service);
      return { status, live: live.paused_since, control: control.paused_since };
    };
    const before = await write('Before');
    await waitForListings([other.url], token, [before]);

    const paused = await cli.json('projections', 'pause', '--realm', 'live');
    const { paused_since } = paused.realms[0];
    expect(new Date(paused_since).toISOString()).toBe(paused_since);
    // A write waits a second for its projection, as it does while no worker runs, and is then acknowledged.
    const first = await write('During the pause');
    expect(await statusOf(before)).toBe(200);
    expect(await statusOf(first)).toBe(404);
    const [position] = await freshnessOf(before);
    // A reading is up to a second old.
    await waitFor(async () => (await freshnessOf(before))[1]! > 0);
    expect(position).toBeGreaterThan(0);
    expect((await freshnessOf(before))[0]).toBe(position);
    for (const service of [one, other])
      expect(await healthOf(service)).toEqual({ status: 200, live: paused_since, control: undefined });
    const shown = await cli.run('projections', 'status');
    expect(shown.stdout).toMatch(
      `\nlive is paused since ${paused_since}. Continue with "catalog projections resume".\n`,
    );
    expect(await cli.json('projections', 'pause', '--realm', 'live')).toEqual(paused);

    await stopAll();
    one = await start();
    other = one;
    const second = await write('After the restart');
    expect([await statusOf(first), await statusOf(second)]).toEqual([404, 404]);
    expect((await healthOf(other)).live).toBe(paused_since);
    const verified = await cli.run('projections', 'verify');
    expect(verified.code).toBe(0);
    expect(verified.stderr).toMatch('the documents have not caught up with the log');

    const resumed = await cli.json('projections', 'resume');
    expect(resumed.realms.map((realm: { paused_since: null }) => realm.paused_since)).toEqual([
      null,
      null,
      null,
    ]);
    await waitForListings([other.url], token, [first, second]);
    const third = await write('After the pause');
    await waitForListings([other.url], token, [third]);
    await waitFor(async () => {
      const [reached, lag_ms] = await freshnessOf(third);
      return reached! > position! && lag_ms === 0;
    });
    expect((await healthOf(one)).live).toBeUndefined();
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
    await stopAll();
    await servers.dispose();
  });
});
