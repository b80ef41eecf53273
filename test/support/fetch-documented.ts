import { openApiDocument } from '../../shared/api/openapi';
import { type Document, Documented } from './documented';

let document: Documented | undefined;

function documented(): Documented {
  document ??= new Documented(openApiDocument() as unknown as Document);
  return document;
}

/** `fetch` of which every answer, and what was accepted, is held against the OpenAPI document. Takes no `Request`. */
export const fetchDocumented: typeof fetch = async (input, init = {}) => {
  const url = String(input);
  const response = await fetch(url, init);
  const bytes = await response.arrayBuffer();
  const { status, headers } = response;
  const typed = new Headers(init.headers).get('content-type')?.startsWith('application/json');
  documented().assert({
    method: init.method ?? 'GET',
    path: url.slice(new URL(url).origin.length),
    sent: typed && typeof init.body === 'string' ? init.body : undefined,
    status,
    headers,
    text: new TextDecoder().decode(bytes),
  });
  // Some statuses may have no body, not even an empty one.
  return new Response(bytes.byteLength === 0 ? null : bytes, { status, headers });
};
