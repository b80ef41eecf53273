import { join } from 'node:path';
import { fetch } from '../support/fetch';
import { createKeys, fetchToken } from '../support/merchant';
import { ownNames } from '../support/own-servers';
import { endAll, startProcess } from '../support/processes';
import { describeOn } from '../support/real-servers';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const PRELOAD = join(__dirname, '..', 'support', 'block-loop.js');
const BURST = 3;

describeOn('REDIS_URL', 'a process that stalls', (url) => {
  afterEach(endAll);

  test('limits requests by the shared bucket, and never by one of its own', async () => {
    const servers = ownNames({ REDIS_URL: url });
    await withTempDir(async (folder) => {
      const settings = {
        ...servers.settings,
        DATA_DIR: folder,
        RATE_LIMIT_SECRET: `1/100000/${BURST}`,
        BLOCK_MS: '1000',
      };
      const { secret } = await createKeys(settings);
      const running = await startProcess('services/boot/main.js', settings, {
        node_arguments: ['--require', PRELOAD],
      });
      const token = await fetchToken(running.url, secret);
      const send = async (): Promise<number> => {
        const reply = await fetch(`${running.url}/api/store`, {
          headers: { authorization: `Bearer ${token}` },
        });
        await reply.arrayBuffer();
        return reply.status;
      };
      while ((await send()) === 200);

      const stopping = new AbortController();
      const statuses = new Map<number, number>();
      const client = async (): Promise<void> => {
        while (!stopping.signal.aborted) {
          const status = await send();
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      const clients = Array.from({ length: 8 }, client);
      const refused = (): number => statuses.get(429) ?? 0;
      for (let stall = 0; stall < 3; stall++) {
        const before = refused();
        await waitFor(() => refused() > before + 20, { what: 'requests after a stall' });
        running.child.kill('SIGUSR2');
      }
      const before = refused();
      await waitFor(() => refused() > before + 20, { what: 'requests after the stalls' });
      stopping.abort();
      await Promise.all(clients);
      // One token comes back each minute. A bucket of the process would have given three more.
      expect(statuses.get(200) ?? 0).toBeLessThan(BURST);
      const metrics = await (await fetch(`${running.url}/metrics`)).text();
      const fallbacks = /^catalog_rate_limit_fallbacks_total (\d+)$/m.exec(metrics)?.[1];
      expect(fallbacks).toBe('0');
      await running.end('SIGTERM');
    });
    await servers.dispose();
  });
});
