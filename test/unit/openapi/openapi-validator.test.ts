import { openApiDocument } from '../../../shared/api/openapi';
import * as examples from '../../../shared/api/responses/examples';
import { type Exchange, type OpenApiDocument, OpenApiValidator } from '../../support/openapi-validator';

// The API tests check every response with `OpenApiValidator`. These tests show that it detects differences.
describe('the check of responses against the OpenAPI document', () => {
  const validator = new OpenApiValidator(openApiDocument() as unknown as OpenApiDocument);
  const PATH = `/api/publication/${examples.publication.id}?expand=listing`;

  const headers = (changes: Record<string, string | undefined> = {}): Headers => {
    const all: Record<string, string | undefined> = {
      ...{ 'content-type': 'application/json; charset=utf-8', date: 'today' },
      ...{ 'x-request-id': 'r', 'cache-control': 'private, no-cache', etag: '"1-x"' },
      ...{ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '1767225600' },
      ...{ 'x-ratelimit-tier': 'public_key', 'x-catalog-position': '7' },
      ...changes,
    };
    const defined = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return new Headers(defined);
  };
  const bodyOf = (data: object = examples.publication): string =>
    JSON.stringify({ code: 200, status: 'OK', data });
  const faults = (changes: Partial<Exchange>): string[] =>
    validator.mismatchesOf({
      ...{ method: 'GET', path: PATH, status: 200, headers: headers(), text: bodyOf() },
      ...changes,
    });

  test('accepts a response as documented', () => {
    expect(faults({})).toEqual([]);
  });

  test.each<[string, Partial<Exchange>, string]>([
    ['an undocumented status', { status: 418 }, 'getPublication documents no status 418'],
    [
      'an undocumented header',
      { headers: headers({ 'x-secret': '1' }) },
      'the header x-secret is not documented',
    ],
    ['a missing required header', { headers: headers({ etag: undefined }) }, 'the header etag is missing'],
    [
      'a header with an invalid value',
      { headers: headers({ 'x-ratelimit-tier': 'gold' }) },
      'the value of the header x-ratelimit-tier does not match its schema: gold',
    ],
    [
      'a header that is not a number',
      { headers: headers({ 'x-ratelimit-limit': 'x' }) },
      'the header x-ratelimit-limit must be a whole number: x',
    ],
    [
      'an undocumented field',
      { text: bodyOf({ ...examples.publication, margin: 4 }) },
      '/data must NOT have additional properties: margin',
    ],
    [
      'a field of another type',
      { text: bodyOf({ ...examples.publication, price_amount: '5' }) },
      '/data/price_amount must be integer',
    ],
    [
      'a missing required field',
      { text: bodyOf({ id: examples.publication.id }) },
      "/data must have required property 'object'",
    ],
    [
      'another content type',
      { headers: headers({ 'content-type': 'text/html' }) },
      'the content type text/html is not documented',
    ],
    ['a body on 304', { status: 304 }, 'the response has a body, but none is documented'],
    ['a body on HEAD', { method: 'HEAD' }, 'the response to HEAD has a body'],
    [
      'a success status for an unknown path',
      { path: '/api/nothing' },
      'no operation matches, and status 200 is not one of 400, 401, 403, 404, 405, 429, 503',
    ],
  ])('reports a response with %s', (_name, changes, fault) => {
    expect(faults(changes)).toContain(fault);
  });

  test('reports an error code that the operation does not document', () => {
    const error = { code: 404, status: 'error', error: { code: 'LISTING_NOT_FOUND', message: 'No' } };
    const reported = faults({
      status: 404,
      headers: headers({ etag: undefined }),
      text: JSON.stringify(error),
    });
    expect(reported).toContain('/error/code must be equal to one of the allowed values');
  });

  test('reports a success response to an undocumented request', () => {
    const sent = JSON.stringify({ colour: 'red' });
    expect(faults({ method: 'PATCH', sent })).toContain(
      'the service accepted a request body that the document forbids: the body must NOT have additional properties: colour',
    );
  });
});
