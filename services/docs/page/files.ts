import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STYLE } from './style';

/** A text that is the same for everybody. */
export interface PublicFile {
  readonly path: string;
  readonly content_type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Next to this file, as the compiler leaves them. */
const SCRIPTS = [
  ...[
    'body.mjs',
    'document.mjs',
    'element.mjs',
    'form.mjs',
    'operation.mjs',
    'page.mjs',
    'pictures.mjs',
    'schema.mjs',
  ],
  ...['seen-ids.mjs', 'token.mjs', 'try.mjs'],
];

/**
 * Nothing from anywhere else, no script but our files, and no text taken for HTML: a description, a product's title
 * or an answer can put nothing into the page but text.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Addresses are relative, so that a gateway may give the service a path of its own. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalog service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/style.css">
<script type="module" src="docs/page.mjs"></script>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<div class="layout">
<nav id="navigation" aria-label="Operations"></nav>
<main id="main"><p>This page shows <a href="openapi.json">openapi.json</a>, and needs JavaScript to do so.</p></main>
</div>
</body>
</html>
`;

export const DOCS_PATHS: readonly string[] = [
  '/docs',
  '/docs/style.css',
  ...SCRIPTS.map((name) => `/docs/${name}`),
];

/** The page at `/docs` and what it needs: it reads `/openapi.json` and shows it. */
export function docsFiles(): PublicFile[] {
  const headers = { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' };
  return [
    { path: '/docs', content_type: 'text/html; charset=utf-8', body: PAGE, headers },
    { path: '/docs/style.css', content_type: 'text/css; charset=utf-8', body: STYLE },
    ...SCRIPTS.map((name) => ({
      path: `/docs/${name}`,
      content_type: 'text/javascript; charset=utf-8',
      body: readFileSync(join(__dirname, name), 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, ''),
    })),
  ];
}
