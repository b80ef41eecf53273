import { openApiDocument } from '../../shared/api/openapi';
import { fetch } from './fetch';
import { type OpenApiDocument, OpenApiValidator } from './openapi-validator';

let cached: OpenApiValidator | undefined;

function validator(): OpenApiValidator {
  cached ??= new OpenApiValidator(openApiDocument() as unknown as OpenApiDocument);
  return cached;
}

/**
 * A `fetch` that checks each response, and each accepted request, against the OpenAPI document. Does not accept a
 * `Request`.
 */
export const fetchDocumented: typeof fetch = async (input, init = {}) => {
  const url = String(input);
  const response = await fetch(url, init);
  const bytes = await response.arrayBuffer();
  const { status, headers } = response;
  const typed = new Headers(init.headers).get('content-type')?.startsWith('application/json');
  validator().assert({
    method: init.method ?? 'GET',
    path: url.slice(new URL(url).origin.length),
    sent: typed && typeof init.body === 'string' ? init.body : undefined,
    status,
    headers,
    text: new TextDecoder().decode(bytes),
  });
  // A response with a status such as 304 must not have a body, not even an empty one.
  return new Response(bytes.byteLength === 0 ? null : bytes, { status, headers });
};
