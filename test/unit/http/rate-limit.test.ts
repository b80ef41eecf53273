import { MemoryRateLimiter } from '../../../shared/adapters/in-process/rate-limiter';
import { KeyStateUnavailable } from '../../../shared/http/auth';
import { clientAddress } from '../../../shared/http/rate-limit';
import { parseConfig } from '../../../shared/kernel/config';
import type { RateLimiter } from '../../../shared/ports/rate-limiter';
import { CountingLimiter, get, ITEM, KEY, principal, startTinyApp, type TinyApp } from './tiny-app';

const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-tier'];
const routes = [
  get('/api/echo', async () => ({ data: {} })),
  get('/api/publication/:id', async () => ({ data: {}, version: 1 })),
];
const failing: RateLimiter = {
  take: async () => {
    throw new Error('connection refused');
  },
  close: async () => {},
};

async function withApp(
  options: Parameters<typeof startTinyApp>[0],
  run: (app: TinyApp) => Promise<void>,
): Promise<void> {
  const app = await startTinyApp({ routes, ...options });
  try {
    await run(app);
  } finally {
    await app.close();
  }
}

describe('rate limits', () => {
  test('a valid token counts against its key, and invalid tokens count against the IP address', () =>
    withApp({ environment: { RATE_LIMIT_PUBLIC: '1/10/2', RATE_LIMIT_SECRET: '5/10/5' } }, async (app) => {
      for (const token of ['token_invalid', 'token_expired'])
        expect((await app.request('GET', '/api/echo', { token })).status).toBe(401);
      expect((await app.request('GET', '/api/echo', { token: 'key_revoked' })).status).toBe(429);
      expect((await app.request('GET', '/api/echo')).status).toBe(429);
      const reply = await app.request('GET', '/api/echo', { token: 'secret' });
      expect(reply.status).toBe(200);
      expect(HEADERS.map((name) => reply.headers[name])).toEqual([
        '5',
        '4',
        expect.stringMatching(/^\d{10}$/),
        'secret_key',
      ]);
      expect([...app.limiter.taken.keys()].sort()).toEqual(['ip:127.0.0.1', `key:${KEY}`]);
    }));

  test('a valid token counts against its key even if the state of the key cannot be read', () => {
    const key = { api_key_id: KEY, key_type: 'secret' } as const;
    const authenticate = (): Promise<never> =>
      Promise.reject(new KeyStateUnavailable(key, new Error('down')));
    return withApp({ authenticator: { authenticate } }, async (app) => {
      const reply = await app.request('GET', '/api/echo', { token: 'secret' });
      expect([reply.status, reply.headers['retry-after']]).toEqual([503, '2']);
      expect(reply.headers['x-ratelimit-tier']).toBe('secret_key');
      expect([...app.limiter.taken.keys()]).toEqual([`key:${KEY}`]);
    });
  });

  test('a long answer that counts one more request asks for the limit of that time', async () => {
    const clock = { now_ms: Date.UTC(2026, 0, 31, 12) };
    const limiter = new MemoryRateLimiter({ now: () => clock.now_ms });
    const long = get('/api/long', async ({ admitItems }) => {
      clock.now_ms += 50_000;
      await admitItems!(2);
      return { data: {} };
    });
    const environment = { RATE_LIMIT_SECRET: '60/1000/2' };
    await withApp({ routes: [...routes, long], limiter, environment }, async (app) => {
      await app.request('GET', '/api/echo', { token: 'secret' });
      expect((await app.request('GET', '/api/long', { token: 'secret' })).status).toBe(200);
    });
  });

  test('a key whose limits are unknown keeps its own bucket and count, and has a bound per minute', async () => {
    const limits = { per_minute: 60, per_day: 1000, burst: 90 };
    const error = new KeyStateUnavailable(
      { api_key_id: KEY, key_type: 'secret', limits: 'unknown' },
      new Error('down'),
    );
    let is_down = false;
    const authenticate = async () => {
      if (is_down) throw error;
      return principal({ limits });
    };
    const limiter = new MemoryRateLimiter({ now: () => Date.UTC(2026, 0, 31, 12) });
    const environment = { RATE_LIMIT_SECRET: '5/20/10' };
    await withApp({ authenticator: { authenticate }, limiter, environment }, async (app) => {
      const send = () => app.request('GET', '/api/echo', { token: 'any' });
      for (let n = 0; n < 40; n++) expect((await send()).status).toBe(200);

      is_down = true;
      const replies = [];
      for (let n = 0; n < 11; n++) replies.push(await send());
      expect(replies.map(({ status }) => status)).toEqual([...Array(10).fill(503), 429]);
      for (const { headers } of replies.slice(0, 10)) expect(headers['retry-after']).toBe('2');
      // Five requests per minute: the next token after twelve seconds, and not after midnight.
      expect(replies.at(-1)!.headers['retry-after']).toBe('12');

      is_down = false;
      const { status, headers } = await send();
      expect([status, headers['x-ratelimit-remaining']]).toEqual([200, '49']);
    });
  });

  test('a key with limits of its own has these instead of those of its type, also in a process on its own', () => {
    const limits = { per_minute: 3, per_day: 100, burst: 2 };
    const authenticate = async () => principal({ limits });
    return withApp(
      { authenticator: { authenticate }, limiter: failing, fallback_limiter: new CountingLimiter() },
      async (app) => {
        const replies = [];
        for (let n = 0; n < 3; n++) replies.push(await app.request('GET', '/api/nothing', { token: 'any' }));
        expect(replies.map(({ status }) => status)).toEqual([404, 404, 429]);
        for (const { headers } of replies)
          expect([headers['x-ratelimit-limit'], headers['x-ratelimit-tier']]).toEqual(['3', 'secret_key']);
      },
    );
  });

  test('an exceeded limit is 429 with Retry-After and the tier, without a top-level message', () =>
    withApp({ environment: { RATE_LIMIT_SECRET: '1/10/1' } }, async (app) => {
      await app.request('GET', '/api/echo', { token: 'secret' });
      const reply = await app.request('GET', '/api/echo', { token: 'secret' });
      expect(reply.status).toBe(429);
      expect(reply.headers['retry-after']).toBe('7');
      expect(reply.body).toEqual({
        code: 429,
        status: 'error',
        error: { code: 'RATE_LIMIT_EXCEEDED', message: 'Rate limit exceeded', tier: 'secret_key' },
      });
    }));

  test('304 and OPTIONS have rate-limit headers, and paths outside of /api and /auth have none', () =>
    withApp({}, async (app) => {
      const reply = await app.request('GET', `/api/publication/${ITEM}`, {
        token: 'public',
        headers: { 'if-none-match': '*' },
      });
      expect([reply.status, reply.headers['x-ratelimit-tier']]).toEqual([304, 'public_key']);
      for (const path of ['/api/echo', '/auth/nothing'])
        for (const name of HEADERS) expect((await app.request('OPTIONS', path)).headers[name]).toBeDefined();
      expect((await app.request('GET', '/health/live')).headers['x-ratelimit-tier']).toBeUndefined();
    }));

  test('OPTIONS has a separate bucket', () =>
    withApp({ environment: { RATE_LIMIT_PUBLIC: '1/10/1' } }, async (app) => {
      await app.request('GET', '/api/echo');
      expect((await app.request('GET', '/api/echo')).status).toBe(429);
      expect((await app.request('OPTIONS', '/api/echo')).status).toBe(204);
      expect((await app.request('OPTIONS', '/api/echo')).status).toBe(429);
    }));

  test('if the shared limiter fails, the limiter of the process applies', async () => {
    const fallback_limiter = new CountingLimiter();
    let fell_back = 0;
    const metrics = {
      requestFinished: () => {},
      limiterFellBack: () => fell_back++,
      limiterRefused: () => {},
      keyClaimed: () => {},
      lockLost: () => {},
    };
    await withApp(
      { limiter: failing, fallback_limiter, metrics, environment: { RATE_LIMIT_SECRET: '1/10/1' } },
      async (app) => {
        expect((await app.request('GET', '/api/echo', { token: 'secret' })).status).toBe(200);
        expect((await app.request('GET', '/api/echo', { token: 'secret' })).status).toBe(429);
        expect(fell_back).toBe(2);
        expect(app.lines.filter((line) => line.includes('shared rate limiter failed'))).toHaveLength(1);
      },
    );
  });

  test('without a working limiter, requests are not limited', () =>
    withApp({ limiter: failing }, async (app) => {
      const reply = await app.request('GET', '/api/echo', { token: 'public' });
      expect([reply.status, reply.headers['x-ratelimit-remaining']]).toEqual([200, '100']);
    }));
});

describe('the IP address of a client', () => {
  const addressFor = (remote: string, forwarded: string | undefined, trust: string): string => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    return clientAddress(trust)({ socket: { remoteAddress: remote }, headers } as never);
  };

  test.each([
    ['without a trusted proxy, it is that of the socket', '203.0.113.9', '198.51.100.1', '', '203.0.113.9'],
    ['behind one proxy, it is the forwarded one', '10.0.0.1', '198.51.100.1', '1', '198.51.100.1'],
    [
      'behind one proxy, it is the last of several forwarded ones',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1',
      '1',
      '198.51.100.1',
    ],
    [
      'behind proxies that are trusted by address, it is the last untrusted one',
      '127.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.1.2.3',
      'loopback, 10.0.0.0/8',
      '198.51.100.1',
    ],
    [
      'behind an untrusted proxy, it is that of the proxy',
      '203.0.113.9',
      '198.51.100.1',
      'loopback',
      '203.0.113.9',
    ],
    ['IPv4 in IPv6 notation is IPv4', '::ffff:203.0.113.9', undefined, '', '203.0.113.9'],
    ['IPv6 is reduced to its /64', '2001:db8:1:2:3:4:5:6', undefined, '', '2001:db8:1:2::/64'],
    ['another address of the same /64 is equal', '2001:DB8:1:2::ffff', undefined, '', '2001:db8:1:2::/64'],
    ['short IPv6 is expanded', '::1', undefined, '', '0:0:0:0::/64'],
    ['a zone is removed', 'fe80::1%eth0', undefined, '', 'fe80:0:0:0::/64'],
    ['a forwarded value that is not an address is ignored', '10.0.0.1', 'unknown', '1', '10.0.0.1'],
  ])('%s', (_name, remote, forwarded, trust, expected) => {
    expect(addressFor(remote, forwarded, trust)).toBe(expected);
  });

  test.each(['everyone', 'true', '10.0.0.0/99'])(
    'TRUST_PROXY=%s is rejected when the app is built',
    (trust) => {
      expect(() => clientAddress(trust)).toThrow(/TRUST_PROXY/);
      expect(parseConfig({ TRUST_PROXY: trust })).toBeDefined();
    },
  );

  test('a client that has left has no address, which is no failure', () => {
    expect(clientAddress('')({ socket: {}, headers: {} } as never)).toBe('unknown');
    expect(clientAddress('1')({ socket: {}, headers: { 'x-forwarded-for': 'x' } } as never)).toBe('unknown');
  });
});
