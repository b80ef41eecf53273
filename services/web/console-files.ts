import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';
import { PAGE_HEADERS } from './html';

/** Where `npm run build` writes the console: beside the compiled form of this file. */
const FOLDER = join(__dirname, 'console');
/** The addresses of the pages, which all are the same file: a script in it shows the page. */
const PAGES = ['/console', '/console/:page', '/console/:page/:id', '/console/:page/:id/:tab'];
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
  const assets = readdirSync(join(FOLDER, 'assets')).flatMap((name) => {
    const content_type = CONTENT_TYPES[extname(name)];
    return content_type ? [assetRoute(name, content_type)] : [];
  });
  return [...assets, ...PAGES.map((path) => ({ path, serve: () => page }))];
}

/** Returns the route of an asset. Reads the file at the first request. */
function assetRoute(name: string, content_type: string): PublicRoute {
  let answer: TextAnswer | undefined;
  return {
    path: `/console/assets/${name}`,
    serve: () => {
      answer ??= answerOf(readFileSync(join(FOLDER, 'assets', name)), content_type, {
        'Cache-Control': 'public, max-age=31536000, immutable',
      });
      return answer;
    },
  };
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
