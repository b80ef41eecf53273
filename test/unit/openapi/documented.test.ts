import { openApiDocument } from '../../../shared/api/openapi';
import { examplePublication } from '../../../shared/api/responses/examples';
import { type Document, Documented, type Exchange } from '../../support/documented';

/** What holds every answer of the API tests against the document must itself notice what is wrong. */
describe('an answer that is not as documented', () => {
  const documented = new Documented(openApiDocument() as unknown as Document);
  const PATH = `/api/publication/${examplePublication.id}?expand=listing`;

  const headers = (changes: Record<string, string | undefined> = {}): Headers => {
    const all: Record<string, string | undefined> = {
      ...{ 'content-type': 'application/json; charset=utf-8', date: 'today' },
      ...{ 'x-request-id': 'r', 'cache-control': 'private, no-cache', etag: '"1-x"' },
      ...{ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '1767225600' },
      'x-ratelimit-tier': 'public_key',
      ...changes,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return new Headers(given);
  };
  const answer = (data: object = examplePublication): string =>
    JSON.stringify({ code: 200, status: 'OK', data });
  const faults = (changes: Partial<Exchange>): string[] =>
    documented.faultsOf({
      ...{ method: 'GET', path: PATH, status: 200, headers: headers(), text: answer() },
      ...changes,
    });

  test('is told from one that is', () => {
    expect(faults({})).toEqual([]);
  });

  test.each<[string, Partial<Exchange>, string]>([
    ['a status', { status: 418 }, 'getPublication documents no status 418'],
    ['a header', { headers: headers({ 'x-secret': '1' }) }, 'the header x-secret is not documented'],
    ['a missing header', { headers: headers({ etag: undefined }) }, 'the header etag is missing'],
    [
      'a value',
      { headers: headers({ 'x-ratelimit-tier': 'gold' }) },
      'the header x-ratelimit-tier may not be gold',
    ],
    [
      'a number',
      { headers: headers({ 'x-ratelimit-limit': 'x' }) },
      'the header x-ratelimit-limit is no whole number: x',
    ],
    [
      'a field',
      { text: answer({ ...examplePublication, margin: 4 }) },
      '/data must NOT have additional properties: margin',
    ],
    [
      'a type',
      { text: answer({ ...examplePublication, price_amount: '5' }) },
      '/data/price_amount must be integer',
    ],
    [
      'a missing field',
      { text: answer({ id: examplePublication.id }) },
      "/data must have required property 'object'",
    ],
    [
      'a content type',
      { headers: headers({ 'content-type': 'text/html' }) },
      'the content type text/html is not documented',
    ],
    ['a body on 304', { status: 304 }, 'a body where none is documented'],
    ['a body on HEAD', { method: 'HEAD' }, 'an answer to HEAD has a body'],
    ['a success', { path: '/api/nothing' }, 'no operation takes it, and it is not refused: 200'],
  ])('by %s', (_name, changes, fault) => {
    expect(faults(changes)).toContain(fault);
  });

  test('by an error code that the operation does not have', () => {
    const error = { code: 404, status: 'error', error: { code: 'LISTING_NOT_FOUND', message: 'No' } };
    const told = faults({ status: 404, headers: headers({ etag: undefined }), text: JSON.stringify(error) });
    expect(told).toContain('/error/code must be equal to one of the allowed values');
  });

  test('by a request that was accepted and is not documented', () => {
    const sent = JSON.stringify({ colour: 'red' });
    expect(faults({ method: 'PATCH', sent })).toContain(
      'the request that was accepted: the body must NOT have additional properties: colour',
    );
  });
});
