import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS_PATHS } from '../../services/docs/page/files';
import { type Harness, type Reply, startHarness } from '../support/harness';

let harness: Harness;
let files: ReadonlyMap<string, Reply>;

beforeAll(async () => {
  harness = await startHarness();
  const replies = DOCS_PATHS.map(async (path) => [path, await harness.request('GET', path)] as const);
  files = new Map(await Promise.all(replies));
});
afterAll(() => harness.close());

describe('/docs', () => {
  test('is a page that takes nothing from elsewhere, and no text for HTML', () => {
    const page = files.get('/docs')!;
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'"]));
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy.join()).not.toMatch(/unsafe|\*|http/);
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/i);
  });

  test('everything that it and its scripts name is served, with its type and an ETag', async () => {
    const named = [...files].flatMap(([path, { text }]) => {
      const base = new URL(path, 'http://docs.test');
      const addresses = text.matchAll(/(?:src|href)="(docs\/[^"]+)"|from '(\.\/[^']+)'/g);
      return [...addresses].map(([, address, module]) => new URL((address ?? module)!, base).pathname);
    });
    expect(new Set(named)).toEqual(new Set(DOCS_PATHS.filter((path) => path !== '/docs')));
    for (const [path, reply] of files) {
      const type = path.endsWith('.mjs')
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

  test('every script of its folder is served', () => {
    const folder = join(__dirname, '..', '..', 'services', 'docs', 'page');
    const scripts = readdirSync(folder).filter((name) => name.endsWith('.mjs'));
    expect(scripts.map((name) => `/docs/${name}`).sort()).toEqual(
      DOCS_PATHS.filter((path) => path.endsWith('.mjs')).sort(),
    );
  });

  test('names no other site, keeps nothing, and puts no HTML together', () => {
    for (const [path, { text }] of files) {
      expect([path, text.match(/https?:\/\/|\/\/[a-z]+\./i)]).toEqual([path, null]);
      expect(text).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      );
      expect(text).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie/);
    }
  });
});
