import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { PAGE_HEADERS } from './html';

/** Where `npm run build` writes the console: beside the compiled form of this file. */
const FOLDER = join(__dirname, 'console');
/** The addresses of the pages, which all are the same file: a script in it shows the page. */
const PAGES = ['/console', '/console/', '/console/:page', '/console/:page/:id', '/console/:page/:id/:tab'];
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/**
 * Builds the routes of the console's files (`services/web/console`). The names of the assets contain a hash, so browsers keep
 * them for ever. Returns no routes if `npm run build` has not built the console.
 */
export function consoleFiles(): PublicRoute[] {
  const index = join(FOLDER, 'index.html');
  if (!existsSync(index)) return [];
  const page = answerOf(readFileSync(index), 'text/html; charset=utf-8', {
    ...PAGE_HEADERS,
    'Cache-Control': 'no-cache',
  });
  const assets = new Map<string, TextAnswer>();
  const names = new Set(readdirSync(join(FOLDER, 'assets')));
  const readAsset = (name: string): TextAnswer => {
    const content_type = CONTENT_TYPES[extname(name)];
    if (!content_type || !names.has(name)) throw new CatalogError('path_not_found');
    const asset = answerOf(readFileSync(join(FOLDER, 'assets', name)), content_type, {
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
    assets.set(name, asset);
    return asset;
  };
  return [
    { path: '/console/assets/:name', serve: (_, { name = '' }) => assets.get(name) ?? readAsset(name) },
    ...PAGES.map((path) => ({ path, serve: () => page })),
  ];
}

const answerOf = (
  body: Buffer,
  content_type: string,
  headers: Readonly<Record<string, string>>,
): TextAnswer => ({
  body,
  content_type,
  headers: { ...headers, ETag: etagOf(undefined, body.toString('latin1')) },
  kept: new Map(),
});
