import accepts from 'accepts';
import { service } from '../../shared/api/operations/service';
import { START } from '../../shared/api/responses/service';
import type { PublicRoute } from '../../shared/http/route';

/**
 * Returns `/`, for people who open the printed address: links to the documentation, and the first request. HTML if
 * `Accept` prefers it, else JSON.
 */
export function startRoute(): PublicRoute {
  return {
    path: service.getStart.path,
    serve: (req) => {
      const headers = { Vary: 'Accept-Encoding, Accept', 'Cache-Control': 'no-cache' };
      if (accepts(req).types(['json', 'html']) !== 'html')
        return { body: JSON.stringify({ code: 200, status: 'OK', data: START }), headers };
      const policy = "default-src 'none'; img-src data:; frame-ancestors 'none'";
      return {
        body: PAGE,
        content_type: 'text/html; charset=utf-8',
        headers: { ...headers, 'Content-Security-Policy': policy },
      };
    },
  };
}

/** The links are relative, so that a gateway can serve the page below another path. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalog service</title>
<link rel="icon" href="data:,">
<h1>Catalog service</h1>
<ul>
<li><a href="docs">docs</a>: the interface, and a form to send requests
<li><a href="openapi.json">openapi.json</a>: the same for programs
</ul>
<p>The first request exchanges an API key for a token. <code>$CATALOG</code> is the address of this page.</p>
<p><code>${START.first_request}</code>
<p><code>curl $CATALOG/api/store -H 'Authorization: Bearer …'</code>
`;
