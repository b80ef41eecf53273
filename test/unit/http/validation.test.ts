import { z } from 'zod';
import { commaList, paginationSchema, queryId } from '../../../shared/api/requests/parameters';
import { storeOf } from '../../../shared/http/auth';
import {
  hasInvalidUtf8,
  pageMeta,
  parseBody,
  parseQuery,
  queryParameters,
} from '../../../shared/http/validation';
import { CatalogError, type Fault } from '../../../shared/kernel/errors';
import { ITEM, principal, STORE } from './tiny-app';

function faultsOf(run: () => unknown): readonly Fault[] {
  try {
    run();
  } catch (error) {
    if (error instanceof CatalogError) return error.faults;
    throw error;
  }
  throw new Error('expected a CatalogError');
}

/** Returns condition, field and constraint of the only fault. */
const onlyFault = (run: () => unknown): [string, string, string] => {
  const [fault, ...others] = faultsOf(run);
  expect(others).toEqual([]);
  return [fault!.condition, fault!.field, fault!.constraint];
};

describe('parseBody', () => {
  const schema = z.strictObject({
    title: z.string().min(1).max(5),
    amount: z.int().min(0).max(10).optional(),
    kind: z.enum(['a', 'b']).optional(),
    flag: z.boolean().optional(),
    ids: z.array(z.guid()).max(2).nullable().optional(),
    contact: z.strictObject({ email: z.email() }).optional(),
    link: z.url().optional(),
    site: z
      .string()
      .refine((text) => text.startsWith('http'), {
        params: { condition: 'invalid_url' },
        error: 'an http(s) URL',
      })
      .optional(),
  });
  const faultOf = (fields: object) => onlyFault(() => parseBody(schema, { title: 'ok', ...fields }));

  test('returns a valid body', () => {
    const body = { title: 'ok', ids: null, amount: 10 };
    expect(parseBody(schema, body)).toEqual(body);
  });

  test.each([
    [{ title: undefined }, 'field_required', 'title', 'required'],
    [{ title: null }, 'field_required', 'title', 'required'],
    [{ title: 5 }, 'field_invalid', 'title', 'a string'],
    [{ title: '' }, 'field_too_short', 'title', 'at least 1 character'],
    [{ title: 'too long' }, 'field_too_long', 'title', 'at most 5 characters'],
    [{ amount: 11 }, 'field_invalid', 'amount', 'at most 10'],
    [{ amount: -1 }, 'field_invalid', 'amount', 'at least 0'],
    [{ amount: 1.5 }, 'field_invalid', 'amount', 'an integer'],
    [{ amount: '5' }, 'field_invalid', 'amount', 'a number'],
    [{ amount: null }, 'field_required', 'amount', 'required'],
    [{ kind: 'c' }, 'field_invalid', 'kind', 'one of: a, b'],
    [{ flag: 'yes' }, 'field_invalid', 'flag', 'true or false'],
    [{ ids: [ITEM, ITEM, ITEM] }, 'field_too_long', 'ids', 'at most 2 items'],
    [{ ids: ['x'] }, 'field_invalid', 'ids.0', 'a UUID'],
    [{ contact: { email: 'x' } }, 'invalid_email', 'contact.email', 'an e-mail address'],
    [{ contact: {} }, 'field_required', 'contact.email', 'required'],
    [{ contact: { email: 'a@b.co', fax: 1 } }, 'field_invalid', 'contact.fax', 'not a known field'],
    [{ link: 'x' }, 'invalid_url', 'link', 'a URL'],
    [{ site: 'ftp:' }, 'invalid_url', 'site', 'an http(s) URL'],
    [{ colour: 1 }, 'field_invalid', 'colour', 'not a known field'],
    [{ toString: 1 }, 'field_invalid', 'toString', 'not a known field'],
  ])('%p → %s of %s: %s', (fields, condition, field, constraint) => {
    expect(faultOf(fields)).toEqual([condition, field, constraint]);
  });

  test('reports all faults in the order of the schema, and unknown fields last', () => {
    const faults = faultsOf(() => parseBody(schema, { nonsense: 1, amount: 'x' }));
    expect(faults.map((fault) => fault.field)).toEqual(['title', 'amount', 'nonsense']);
  });

  test('reports the first 50 of a thousand faults', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `x${index}`);
    const body = Object.fromEntries(names.map((name) => [name, 1]));
    const faults = faultsOf(() => parseBody(schema, { title: 'ok', ...body }));
    expect(faults.map((fault) => fault.field)).toEqual(names.slice(0, 50));
  });
});

describe('parseQuery', () => {
  const schema = z.object({
    ...paginationSchema.shape,
    sort: z.enum(['name', 'price']).optional(),
    expand: commaList(['listing', 'media']),
    more: commaList(['a']).optional(),
    listing_id: queryId.optional(),
  });
  const parse = (query: Record<string, string[]>) => parseQuery(schema, query);

  test('applies defaults and ignores unknown parameters', () => {
    expect(parse({ utm_source: ['x', 'y'] })).toEqual({ page: 1, limit: 20, expand: [], more: [] });
  });

  test('accepts lists that are comma-separated, repeated or both, and removes duplicates', () => {
    expect(parse({ expand: ['listing,media', 'listing'] }).expand).toEqual(['listing', 'media']);
    expect(parse({ expand: ['media', ' listing'], more: ['a', 'a'] })).toMatchObject({
      expand: ['media', 'listing'],
      more: ['a'],
    });
    expect(parse({ expand: [''] }).expand).toEqual([]);
  });

  test.each([
    [{ limit: ['51'] }, 'limit', 'an integer from 1 to 50'],
    [{ limit: ['0'] }, 'limit', 'an integer from 1 to 50'],
    [{ limit: [''] }, 'limit', 'an integer from 1 to 50'],
    [{ limit: ['1.0'] }, 'limit', 'an integer from 1 to 50'],
    [{ limit: ['+5'] }, 'limit', 'an integer from 1 to 50'],
    [{ limit: ['5', '6'] }, 'limit', 'a single value'],
    [{ page: ['0'] }, 'page', 'an integer from 1 to 9007199254740991'],
    [{ page: ['-1'] }, 'page', 'an integer from 1 to 9007199254740991'],
    [{ page: ['1e3'] }, 'page', 'an integer from 1 to 9007199254740991'],
    [{ page: ['99999999999999999999'] }, 'page', 'an integer from 1 to 9007199254740991'],
    [{ sort: ['size'] }, 'sort', 'one of: name, price'],
    [{ expand: ['owner'] }, 'expand', 'a comma-separated list of: listing, media'],
    [{ expand: ['listing,,media'] }, 'expand', 'a comma-separated list of: listing, media'],
  ])('rejects %p', (query, field, constraint) => {
    expect(onlyFault(() => parse(query as Record<string, string[]>))).toEqual([
      'invalid_query',
      field,
      constraint,
    ]);
  });

  test('rejects an invalid id with invalid_uuid, and converts ids to lower case', () => {
    expect(onlyFault(() => parse({ listing_id: ['12'] }))).toEqual(['invalid_uuid', 'listing_id', 'a UUID']);
    expect(parse({ listing_id: [ITEM.toUpperCase()] }).listing_id).toBe(ITEM);
  });

  test('accepts schemas with refine and transform', () => {
    const refined = schema
      .refine((query) => query.page < 3, { path: ['page'], error: 'under 3' })
      .transform((query) => query.page);
    expect(parseQuery(refined, { page: ['2'], expand: ['media', 'listing'] })).toBe(2);
    expect(onlyFault(() => parseQuery(refined, { page: ['3'] }))).toEqual([
      'invalid_query',
      'page',
      'under 3',
    ]);
  });
});

describe('pageMeta', () => {
  test('returns meta of the paginated envelope', () => {
    expect(pageMeta({ page: 3, limit: 20, total: 41 })).toEqual({
      page: 3,
      take: 20,
      item_count: 41,
      pagination: { page: 3, total_pages: 3, total_items: 41, limit: 20 },
    });
    expect(pageMeta({ page: 1, limit: 20, total: 0 }).pagination).toMatchObject({ total_pages: 0 });
  });
});

describe('storeOf', () => {
  const conditionOf = (run: () => unknown): string | undefined => {
    try {
      run();
    } catch (error) {
      return (error as CatalogError).condition;
    }
    return undefined;
  };

  test('returns the requested store, or the first one of the token', () => {
    expect(storeOf(principal())).toBe(STORE);
    expect(storeOf(principal(), STORE.toUpperCase())).toBe(STORE);
    expect(storeOf(principal({ stores: [ITEM as never, STORE] }), STORE)).toBe(STORE);
  });

  test('rejects stores that the token does not have, tokens without stores, and malformed ids', () => {
    expect(conditionOf(() => storeOf(principal(), ITEM))).toBe('store_access_denied');
    expect(conditionOf(() => storeOf(principal({ stores: [] })))).toBe('store_access_denied');
    expect(conditionOf(() => storeOf(principal(), 'mine'))).toBe('invalid_uuid');
    expect(conditionOf(() => storeOf(principal(), ''))).toBe('invalid_uuid');
  });
});

describe('hasInvalidUtf8', () => {
  const invalidParameters = (search: string): string[] => {
    const query = queryParameters(`/api/store/search?${search}`);
    return Object.keys(query).filter((name) => hasInvalidUtf8(query, name));
  };

  test.each([
    ['q=caf%E9', ['q']],
    ['q=%ff', ['q']],
    ['q=%C3', ['q']],
    ['q=%ed%a0%80', ['q']],
    ['q=ok&q=%FF&page=1', ['q']],
    ['&&q=%80&listing_id=%e9=%e9', ['q', 'listing_id']],
  ])('%s has invalid UTF-8', (search, names) => {
    expect(invalidParameters(search)).toEqual(names);
    // The second call gets the cached query.
    expect(invalidParameters(search)).toEqual(names);
  });

  test.each([
    'q=caf%C3%A9',
    'q=%f0%9f%ab%96',
    'q=%EF%BF%BD',
    'q=100%',
    'q=%zz%8',
    'q=%258f',
    'q=+%2B',
    'page=1',
    '%C3%A9=1',
  ])('%s has valid UTF-8', (search) => {
    expect(invalidParameters(search)).toEqual([]);
  });
});
