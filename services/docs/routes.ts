import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openApiDocument } from '../../shared/api/openapi';
import { service } from '../../shared/api/operations/service';
import { readAsset } from '../../shared/http/asset';
import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';

/** Long enough for one visit, short enough that a new release appears soon. */
const SHORT_CACHE = 'public, max-age=300';
/** For paths that contain the version of their content. */
const LONG_CACHE = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/**
 * Builds the routes of `/openapi.json` and, at `/docs`, of Swagger UI (package `swagger-ui-dist`). Every process
 * describes the complete interface, so a gateway may send these requests to any of them.
 */
export const docsRoutes = (): PublicRoute[] => [
  textRoute(service.getDocument.path, 'application/json', () => JSON.stringify(openApiDocument())),
  textRoute(service.getDocs.path, 'text/html', () => PAGE, {
    'Content-Security-Policy': POLICY,
    'Referrer-Policy': 'no-referrer',
  }),
  textRoute('/docs/page.css', 'text/css', () => STYLE),
  textRoute('/docs/page.mjs', 'text/javascript', () => readAsset(join(__dirname, 'page.mjs'))),
  swaggerRoute('swagger-ui-bundle.js', 'text/javascript'),
  swaggerRoute('swagger-ui.css', 'text/css'),
];

const swaggerRoute = (file: string, type: string): PublicRoute =>
  textRoute(`/${BUNDLE}/${file}`, type, () => readAsset(join(SWAGGER_UI, file)), LONG_CACHE);

/** Returns the route of a text that everyone may read without a token. Calls `read` once, at the first request. */
function textRoute(
  path: string,
  type: string,
  read: () => string,
  headers: Readonly<Record<string, string>> = {},
): PublicRoute {
  let answer: TextAnswer | undefined;
  const create = (): TextAnswer => {
    const body = read();
    return {
      body,
      content_type: `${type}; charset=utf-8`,
      headers: { 'Cache-Control': SHORT_CACHE, ETag: etagOf(undefined, body), ...headers },
      kept: new Map(),
    };
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
