import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openApiDocument } from '../../shared/api/openapi';
import { service } from '../../shared/api/operations/service';
import { readAsset } from '../../shared/http/asset';
import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';

/** A text that is served to everyone without a token. */
interface PublicFile {
  readonly path: string;
  readonly content_type: string;
  /** Called once, on the first request. */
  readonly read: () => string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Long enough for one visit, short enough that a new release appears soon. */
const SHORT_CACHE = 'public, max-age=300';
/** For paths that contain the version of their content. */
const LONG_CACHE = 'public, max-age=31536000, immutable';

/**
 * Builds the routes of `/openapi.json` and, at `/docs`, of Swagger UI (package `swagger-ui-dist`). Every process
 * describes the complete interface, so a gateway may send these requests to any of them.
 */
export function docsRoutes(): PublicRoute[] {
  return [
    {
      path: service.getDocument.path,
      content_type: 'application/json; charset=utf-8',
      read: () => JSON.stringify(openApiDocument()),
    },
    {
      path: service.getDocs.path,
      content_type: 'text/html; charset=utf-8',
      read: () => PAGE,
      headers: { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' },
    },
    { path: '/docs/page.css', content_type: 'text/css; charset=utf-8', read: () => STYLE },
    {
      path: '/docs/page.mjs',
      content_type: 'text/javascript; charset=utf-8',
      read: () => readAsset(join(__dirname, 'page.mjs')),
    },
    {
      path: `/${BUNDLE}/swagger-ui-bundle.js`,
      content_type: 'text/javascript; charset=utf-8',
      read: () => readAsset(join(SWAGGER_UI, 'swagger-ui-bundle.js')),
      headers: { 'Cache-Control': LONG_CACHE },
    },
    {
      path: `/${BUNDLE}/swagger-ui.css`,
      content_type: 'text/css; charset=utf-8',
      read: () => readAsset(join(SWAGGER_UI, 'swagger-ui.css')),
      headers: { 'Cache-Control': LONG_CACHE },
    },
  ].map(publicRoute);
}

function publicRoute({ path, content_type, read, headers }: PublicFile): PublicRoute {
  let answer: TextAnswer | undefined;
  const create = (): TextAnswer => {
    const body = read();
    const all = { 'Cache-Control': SHORT_CACHE, ETag: etagOf(undefined, body), ...headers };
    return { body, content_type, headers: all, kept: new Map() };
  };
  return {
    path,
    serve: () => {
      answer ??= create();
      return answer;
    },
  };
}

const SWAGGER_UI = dirname(require.resolve('swagger-ui-dist/package.json'));
const { version } = JSON.parse(readFileSync(join(SWAGGER_UI, 'package.json'), 'utf8')) as { version: string };
const BUNDLE = `docs/swagger-ui-${version}`;

/**
 * The content security policy. Allows only files of this origin: no inline script, no inline style, no `eval`. Swagger
 * UI uses `data:` for icons and `blob:` for responses that are pictures.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The links are relative, so that a gateway can serve the page below another path. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalog service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${BUNDLE}/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script defer src="${BUNDLE}/swagger-ui-bundle.js"></script>
<script type="module" src="docs/page.mjs"></script>
</head>
<body>
<form id="token" hidden>
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="pk_live_…" required aria-describedby="key-note">
<button type="submit">Get a token</button>
<p id="key-note">This tab forgets the key and the token when it is reloaded. Use secret keys only on servers.</p>
<p id="state" role="status"></p>
</form>
<div id="swagger-ui"><p>This page displays <a href="openapi.json">openapi.json</a> and needs JavaScript.</p></div>
</body>
</html>
`;

const STYLE = `
body { margin: 0; }
#token { max-width: 1460px; margin: 0 auto; padding: 20px 20px 0; box-sizing: border-box; font: 14px/1.5 sans-serif; }
#token label { font-weight: 600; }
#token input, #token button { font: inherit; padding: 6px 10px; min-width: 22em; }
#token button { min-width: 0; cursor: pointer; }
#token p { margin: 6px 0; }
`;
