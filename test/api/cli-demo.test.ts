import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { demoRequests } from '../../services/demo/announce';
import { ensureDemo } from '../../services/demo/ensure';
import { parseConfig } from '../../shared/kernel/config';
import { withTempDir } from '../support/temp-dir';

interface Body {
  readonly data: Record<string, unknown> & { readonly featured?: { featured_position: number }[] };
}

test('the requests that a new demo prints are answered as they say', () =>
  withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' });
    const service = await startAllInOne(config, pino({ level: 'silent' }));
    try {
      const ready = (await ensureDemo(service.runtime, config))!;
      expect(await service.pipelines.caughtUp(10_000)).toBe(true);
      const text = demoRequests(ready, service.url);

      const key = async (name: 'public_key' | 'secret_key') => {
        expect(text).toContain(`'X-API-Key: ${ready.demo[name]}'`);
        const headers = { 'x-api-key': ready.demo[name] };
        const reply = await fetch(`${service.url}/auth/token`, { method: 'POST', headers });
        return { authorization: `Bearer ${((await reply.json()) as Body).data.token}` };
      };
      const [listing, publication] = [...text.matchAll(/curl -s '([^']+)'/g)].map(([, url]) => url!);
      const headers = await key('public_key');
      const page = (await (await fetch(listing!, { headers })).json()) as Body;
      expect(page.data.featured!.map((each) => each.featured_position)).toEqual([1, 3]);
      const one = (await (await fetch(publication!, { headers })).json()) as Body;
      expect(one.data).toMatchObject({ title: 'Taza Amancay', listing: { name: 'Cerámica' } });

      const [, url] = /-X PATCH (\S+)/.exec(text)!;
      const [, body] = /-d '([^']+)'/.exec(text)!;
      const patch = {
        method: 'PATCH',
        headers: { ...(await key('secret_key')), 'content-type': 'application/json' },
      };
      const written = await fetch(url!, { ...patch, body: body! });
      expect(written.status).toBe(200);
      expect(((await written.json()) as Body).data).toMatchObject({ id: one.data.id, price_amount: 4500 });
    } finally {
      await service.close();
    }
  }));
