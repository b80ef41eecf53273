import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';

/** Headers of every page: it loads nothing from another origin, and runs no script that is written in it. */
export const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  'Referrer-Policy': 'same-origin',
};

/** Returns JSON that can be written in a `<script>`: no text in it ends the element. */
export const scriptJson = (data: object): string => JSON.stringify(data).replaceAll('<', '\\u003c');

export const htmlAnswer = (
  body: string,
  status: number,
  headers: Readonly<Record<string, string>>,
): TextAnswer => ({ status, body, content_type: 'text/html; charset=utf-8', headers });

const CONTENT_TYPES = { css: 'text/css', mjs: 'text/javascript', svg: 'image/svg+xml' } as const;

/** Returns the route of a style sheet, a script or an icon, whose path has its hash, so that browsers keep it for ever. */
export function assetRoute(name: string, kind: keyof typeof CONTENT_TYPES, body: string): PublicRoute {
  const etag = etagOf(undefined, body);
  const answer: TextAnswer = {
    body,
    content_type: `${CONTENT_TYPES[kind]}; charset=utf-8`,
    headers: { 'Cache-Control': 'public, max-age=31536000, immutable', ETag: etag },
    kept: new Map(),
  };
  return {
    path: `/${name}-${etag.replace(/[^a-zA-Z0-9]/g, '').slice(0, 12)}.${kind}`,
    serve: () => answer,
  };
}
