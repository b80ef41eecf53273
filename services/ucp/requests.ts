import { z } from 'zod';
import { REQUIRED } from '../../shared/api/error-catalogue';
import { invalid, TransportError } from './protocol';

/** The most identifiers of a lookup. */
const IDS_MAX = 50;

/** The values of a filter. A product must have one of them. */
const values = z.union([z.string(), z.array(z.string()).max(50)]);
const amount = z.int().min(0);
const selectedOption = z.looseObject({ name: z.string(), label: z.string() });

/** The filters of the protocol, then those of this service, which have the names of `/api`. */
const filters = z.looseObject({
  categories: z.array(z.string()).max(20).optional(),
  price: z.looseObject({ min: amount.optional(), max: amount.optional() }).optional(),
  vendor: values.optional(),
  product_type: values.optional(),
  tag: values.optional(),
  sku: values.optional(),
  barcode: values.optional(),
  option: z.record(z.string(), values).optional(),
  attributes: z.record(z.string(), values).optional(),
  in_stock: z.boolean().optional(),
});
export type Values = z.infer<typeof values>;
export type Filters = z.infer<typeof filters>;
export const FILTER_NAMES = Object.keys(filters.shape);

const common = {
  context: z
    .looseObject({
      language: z.string().optional(),
      currency: z.string().optional(),
      address_country: z.string().optional(),
    })
    .optional(),
  filters: filters.optional(),
};

export const searchRequest = z.looseObject({
  query: z.string().optional(),
  ...common,
  pagination: z.looseObject({ cursor: z.string().optional(), limit: z.int().min(1).optional() }).optional(),
});
export type SearchRequest = z.infer<typeof searchRequest>;

export const lookupRequest = z.looseObject({ ids: z.array(z.string()).min(1), ...common });
export type LookupRequest = z.infer<typeof lookupRequest>;

export const productRequest = z.looseObject({
  id: z.string(),
  selected: z.array(selectedOption).optional(),
  preferences: z.array(z.string()).optional(),
  ...common,
});
export type ProductRequest = z.infer<typeof productRequest>;

/** Parses a request. Throws `TransportError`, which names the first field that is invalid. */
export function parseRequest<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const [issue] = error.issues;
  const is_missing = issue?.code === 'invalid_type' && issue.input === undefined;
  throw invalid(`Invalid ${issue?.path.join('.') || 'request'}: ${is_missing ? REQUIRED : issue?.message}.`);
}

/** Throws `TransportError` unless a search has a query or a filter that this service knows. */
export function assertSearchable({ query, filters: { ...asked } = {} }: SearchRequest): void {
  const has_filter = FILTER_NAMES.some((name) => asked[name] !== undefined);
  if (query?.trim() || has_filter) return;
  throw invalid('A search needs a query, or one of the filters that docs/ucp.md lists.');
}

/** Returns the identifiers without duplicates. Throws `TransportError` if they are too many. */
export function distinctIds({ ids }: LookupRequest): readonly string[] {
  if (ids.length > IDS_MAX)
    throw new TransportError(400, 'request_too_large', `A lookup has at most ${IDS_MAX} ids.`);
  return [...new Set(ids)];
}

/** Throws `TransportError` if an option is selected twice. */
export function assertSelectable({ selected = [] }: ProductRequest): void {
  const names = new Set(selected.map(({ name }) => name));
  if (names.size < selected.length) throw invalid('Each option can be selected only once.');
}
