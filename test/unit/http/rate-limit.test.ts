import { KeyStateUnknown } from '../../../shared/http/auth';
import { clientAddress } from '../../../shared/http/rate-limit';
import { parseConfig } from '../../../shared/kernel/config';
import type { RateLimiter } from '../../../shared/ports/rate-limiter';
import { CountingLimiter, get, ITEM, KEY, startTinyApp, type TinyApp } from './tiny-app';

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
  story: (app: TinyApp) => Promise<void>,
): Promise<void> {
  const app = await startTinyApp({ routes, ...options });
  try {
    await story(app);
  } finally {
    await app.close();
  }
}

describe('rate limits', () => {
  test('a valid token pays with its key, whatever else the address does', () =>
    withApp({ environment: { RATE_LIMIT_PUBLIC: '1/10/2', RATE_LIMIT_SECRET: '5/10/5' } }, async (app) => {
      for (const token of ['token_invalid', 'token_expired'])
        expect((await app.request('GET', '/api/echo', { token })).status).toBe(401);
      expect((await app.request('GET', '/api/echo', { token: 'key_revoked' })).status).toBe(429);
      expect((await app.request('GET', '/api/echo')).status).toBe(429);
      const paid = await app.request('GET', '/api/echo', { token: 'secret' });
      expect(paid.status).toBe(200);
      expect(HEADERS.map((name) => paid.headers[name])).toEqual([
        '5',
        '4',
        expect.stringMatching(/^\d{10}$/),
        'secret_key',
      ]);
      expect([...app.limiter.taken.keys()].sort()).toEqual(['ip:127.0.0.1', `key:${KEY}`]);
    }));

  test('a valid token whose key cannot be looked up pays with its key all the same', () => {
    const key = { api_key_id: KEY, key_type: 'secret' } as const;
    const authenticate = (): Promise<never> => Promise.reject(new KeyStateUnknown(key, new Error('down')));
    return withApp({ authenticator: { authenticate } }, async (app) => {
      const reply = await app.request('GET', '/api/echo', { token: 'secret' });
      expect([reply.status, reply.headers['retry-after']]).toEqual([503, '2']);
      expect(reply.headers['x-ratelimit-tier']).toBe('secret_key');
      expect([...app.limiter.taken.keys()]).toEqual([`key:${KEY}`]);
    });
  });

  test('an empty bucket: 429 with Retry-After, the tier, and no top-level message', () =>
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

  test.each([
    ['GET', '/api/echo', 200],
    ['HEAD', '/api/echo', 200],
    ['OPTIONS', '/api/echo', 204],
    ['GET', '/api/nothing', 404],
    ['GET', '/api', 404],
    ['PUT', '/api/echo', 405],
    ['GET', '/api/publication/no-uuid', 400],
    ['POST', '/auth/token', 404],
    ['GET', '/auth', 404],
    ['OPTIONS', '/auth/nothing', 404],
  ])('%s %s (%i) has all of the headers', (method, path, status) =>
    withApp({}, async (app) => {
      const reply = await app.request(method, path, { token: 'public' });
      expect(reply.status).toBe(status);
      for (const name of HEADERS) expect(reply.headers[name]).toBeDefined();
      expect(reply.headers['retry-after']).toBeUndefined();
    }),
  );

  test('304 has them, too, and outside of /api and /auth there are none', () =>
    withApp({}, async (app) => {
      const reply = await app.request('GET', `/api/publication/${ITEM}`, {
        token: 'public',
        headers: { 'if-none-match': '*' },
      });
      expect([reply.status, reply.headers['x-ratelimit-tier']]).toEqual([304, 'public_key']);
      expect((await app.request('GET', '/health/live')).headers['x-ratelimit-tier']).toBeUndefined();
    }));

  test('preflights have a bucket apart', () =>
    withApp({ environment: { RATE_LIMIT_PUBLIC: '1/10/1' } }, async (app) => {
      await app.request('GET', '/api/echo');
      expect((await app.request('GET', '/api/echo')).status).toBe(429);
      expect((await app.request('OPTIONS', '/api/echo')).status).toBe(204);
      expect((await app.request('OPTIONS', '/api/echo')).status).toBe(429);
    }));

  test('a limiter that fails: the process limits on its own', async () => {
    const fallback_limiter = new CountingLimiter();
    let fell_back = 0;
    const metrics = {
      requestFinished: () => {},
      limiterFellBack: () => fell_back++,
      limiterRefused: () => {},
      keyClaimed: () => {},
    };
    await withApp(
      { limiter: failing, fallback_limiter, metrics, environment: { RATE_LIMIT_SECRET: '1/10/1' } },
      async (app) => {
        expect((await app.request('GET', '/api/echo', { token: 'secret' })).status).toBe(200);
        expect((await app.request('GET', '/api/echo', { token: 'secret' })).status).toBe(429);
        expect(fell_back).toBe(2);
        expect(app.lines.filter((line) => line.includes('rate limiter cannot be asked'))).toHaveLength(1);
      },
    );
  });

  test('no limiter at all: requests pass, with headers', () =>
    withApp({ limiter: failing }, async (app) => {
      const reply = await app.request('GET', '/api/echo', { token: 'public' });
      expect([reply.status, reply.headers['x-ratelimit-remaining']]).toEqual([200, '100']);
    }));
});

describe('the address that pays', () => {
  const from = (remote: string, forwarded: string | undefined, trust: string): string => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    return clientAddress(trust)({ socket: { remoteAddress: remote }, headers } as never);
  };

  test.each([
    ['the socket alone, without a proxy', '203.0.113.9', '198.51.100.1', '', '203.0.113.9'],
    ['one hop back behind one proxy', '10.0.0.1', '198.51.100.1', '1', '198.51.100.1'],
    ['never further than the hops go', '10.0.0.1', '1.1.1.1, 198.51.100.1', '1', '198.51.100.1'],
    [
      'behind named proxies',
      '127.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.1.2.3',
      'loopback, 10.0.0.0/8',
      '198.51.100.1',
    ],
    ['not behind another', '203.0.113.9', '198.51.100.1', 'loopback', '203.0.113.9'],
    ['IPv4 within IPv6', '::ffff:203.0.113.9', undefined, '', '203.0.113.9'],
    ['IPv6 by its /64', '2001:db8:1:2:3:4:5:6', undefined, '', '2001:db8:1:2::/64'],
    ['another of the same /64', '2001:DB8:1:2::ffff', undefined, '', '2001:db8:1:2::/64'],
    ['short IPv6', '::1', undefined, '', '0:0:0:0::/64'],
    ['a zone is no part of it', 'fe80::1%eth0', undefined, '', 'fe80:0:0:0::/64'],
    ['garbage is not believed', '10.0.0.1', 'unknown', '1', '10.0.0.1'],
  ])('%s', (_name, remote, forwarded, trust, expected) => {
    expect(from(remote, forwarded, trust)).toBe(expected);
  });

  test.each(['everyone', 'true', '10.0.0.0/99'])('TRUST_PROXY=%s is refused at the start', (trust) => {
    expect(() => clientAddress(trust)).toThrow(/TRUST_PROXY/);
    expect(parseConfig({ TRUST_PROXY: trust })).toBeDefined();
  });
});
