import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCatalogue } from '../../../shared/api/error-catalogue';
import { CatalogError, type Condition } from '../../../shared/kernel/errors';
import { get, startTinyApp, type TinyApp } from './tiny-app';

const rows = readFileSync(resolve('docs/errors.md'), 'utf8')
  .split('## Every error')[1]!
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => /^\d{3}$/.test(cells[2] ?? ''));

test('docs/errors.md lists exactly the rows of the catalogue', () => {
  const documented = rows.map(([, condition, status, code, text]) => [condition, status, code, text]);
  const actual = Object.entries(errorCatalogue).map(([condition, row]) => [
    condition,
    String(row.status),
    row.code,
    row.message,
  ]);
  expect(documented).toEqual(actual);
});

describe('structured errors', () => {
  let app: TinyApp;
  let thrown: unknown;

  beforeAll(async () => {
    app = await startTinyApp({
      routes: [
        get('/api/fail', async () => {
          throw thrown;
        }),
      ],
    });
  });

  afterAll(() => app.close());

  const fail = (error: unknown) => {
    thrown = error;
    return app.request('GET', '/api/fail', { token: 'secret' });
  };

  test.each(Object.keys(errorCatalogue) as Condition[])(
    '%s is sent with the status, code and message of its row',
    async (condition) => {
      const row = errorCatalogue[condition];
      const reply = await fail(new CatalogError(condition));
      expect(reply.status).toBe(row.status);
      expect(reply.body).toEqual({
        code: row.status,
        status: 'error',
        ...(row.status === 400 ? { message: row.message } : {}),
        error: {
          code: row.code,
          message: row.message,
          ...(row.status === 429 ? { tier: 'secret_key' } : {}),
        },
      });
    },
  );

  test('the first fault decides code and message, and details list all faults', async () => {
    const reply = await fail(
      CatalogError.ofFaults([
        { condition: 'field_too_long', field: 'title', constraint: 'at most 200 characters' },
        { condition: 'invalid_url', field: 'link', constraint: 'an http(s) URL' },
      ]),
    );
    expect(reply.body).toEqual({
      code: 400,
      status: 'error',
      message: 'A field is too long',
      error: {
        code: 'FIELD_TOO_LONG',
        message: 'Invalid title: expected at most 200 characters',
        details: {
          field: 'title',
          constraint: 'at most 200 characters',
          errors: [
            { field: 'title', constraint: 'at most 200 characters', code: 'FIELD_TOO_LONG' },
            { field: 'link', constraint: 'an http(s) URL', code: 'INVALID_URL' },
          ],
        },
      },
    });
  });

  test.each([
    ['required', 'title is required'],
    ['not a known field', 'title is not a known field'],
    ['a string', 'Invalid title: expected a string'],
  ])('the constraint %p becomes the message %p', async (constraint, message) => {
    const error = CatalogError.ofFaults([{ condition: 'field_invalid', field: 'title', constraint }]);
    expect((await fail(error)).body.error.message).toBe(message);
  });

  test('the message of an error replaces that of its row, except for internal errors', async () => {
    expect((await fail(new CatalogError('lost_race', { message: 'try later' }))).body.error.message).toBe(
      'try later',
    );
    const internal = await fail(new CatalogError('internal', { message: 'at line 3 of x.sqlite' }));
    expect(internal.body.error.message).toBe('An internal error occurred');
  });

  test.each([
    [new TypeError('x of undefined')],
    ['a string'],
    [null],
    [undefined],
    [Object.assign(new Error('teapot'), { status: 418, expose: true })],
  ])('any other thrown value is an internal error: %p', async (error) => {
    const reply = await fail(error);
    // Express treats a falsy rejection as an error, too.
    expect([reply.status, reply.body.error.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(reply.text).not.toMatch(/undefined|teapot|string/);
  });
});
