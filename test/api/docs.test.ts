import { docsRoutes } from '../../services/docs/routes';
import { type Harness, type Reply, startHarness } from '../support/harness';

const PATHS = docsRoutes()
  .map(({ path }) => path)
  .filter((path) => path.startsWith('/docs'));
const OWN = ['/docs', '/docs/page.css', '/docs/page.mjs'];

let harness: Harness;
let files: ReadonlyMap<string, Reply>;

beforeAll(async () => {
  harness = await startHarness();
  const replies = PATHS.map(async (path) => [path, await harness.request('GET', path)] as const);
  files = new Map(await Promise.all(replies));
});
afterAll(() => harness.close());

describe('/', () => {
  const get = (accept: string) => harness.request('GET', '/', { headers: { accept } });

  test('is a page for browsers whose links work, also below a path of a gateway', async () => {
    const page = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('vary')).toMatch(/\bAccept\b(?!-)/);
    const links = [...page.text.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link!);
    expect(links).toEqual(['docs', 'openapi.json']);
    for (const link of links) expect((await harness.request('GET', `/${link}`)).status).toBe(200);
    expect(page.text).not.toMatch(/<script|<style|\son\w+=/i);
  });

  test.each(['*/*', 'application/json', 'image/png'])('is JSON for Accept: %s', async (accept) => {
    const reply = await get(accept);
    expect(reply.body).toMatchObject({ status: 'OK', data: { docs: '/docs', openapi: '/openapi.json' } });
    const [, path, header] = /-X POST \$CATALOG(\S+) -H '([^:]+): /.exec(reply.body.data.first_request)!;
    const token = await harness.request('POST', path!, { headers: { [header!]: 'pk_x' } });
    expect(token.body).toMatchObject({ code: 401, message: 'Invalid API key' });
    expect((await harness.request('POST', '/')).status).toBe(405);
  });
});

describe('/docs', () => {
  test('is a page that loads nothing from other sites and runs no inline script', () => {
    const page = files.get('/docs')!;
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy')!.split('; ');
    const own = ['script-src', 'style-src', 'connect-src'].map((what) => `${what} 'self'`);
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", ...own, "base-uri 'none'"]));
    expect(policy.join()).not.toMatch(/unsafe|\*|http/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/i);
  });

  test('serves every file that the page refers to, with its type and an ETag', async () => {
    const addresses = files.get('/docs')!.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g);
    const named = [...addresses].map(([, address]) => `/${address}`);
    expect(new Set(['/docs', ...named])).toEqual(new Set(PATHS));
    for (const [path, reply] of files) {
      const type = /\.m?js$/.test(path)
        ? 'text/javascript'
        : path.endsWith('.css')
          ? 'text/css'
          : 'text/html';
      expect([path, reply.status, reply.headers.get('content-type')]).toEqual([
        path,
        200,
        `${type}; charset=utf-8`,
      ]);
      const again = { headers: { 'if-none-match': reply.headers.get('etag')! } };
      expect((await harness.request('GET', path, again)).status).toBe(304);
    }
  });

  test('the files of Swagger UI have its version in their path and are cached forever', () => {
    for (const [path, { headers, text }] of files) {
      const cache_control = OWN.includes(path)
        ? 'public, max-age=300'
        : 'public, max-age=31536000, immutable';
      expect([path, headers.get('cache-control')]).toEqual([path, cache_control]);
      expect(OWN.includes(path) || /^\/docs\/swagger-ui-\d+\.\d+\.\d+\//.test(path)).toBe(true);
      expect(text).not.toContain('sourceMappingURL');
    }
  });

  test('our files contain no other site, store nothing, and build no HTML', () => {
    for (const path of OWN) {
      const { text } = files.get(path)!;
      expect([path, text.match(/https?:\/\/|["'`]\/\/[a-z]+\./i)]).toEqual([path, null]);
      expect(text).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      );
      expect(text).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie/);
    }
  });

  test('passes the credentials under the names of the security schemes in openapi.json', async () => {
    const { components, paths } = (await harness.request('GET', '/openapi.json')).body;
    const used = [...files.get('/docs/page.mjs')!.text.matchAll(/preauthorizeApiKey\('(\w+)'/g)];
    expect(used.map(([, scheme]) => scheme).sort()).toEqual(Object.keys(components.securitySchemes).sort());
    expect(paths['/auth/token'].post.security).toEqual([{ api_key: [] }]);
  });
});
