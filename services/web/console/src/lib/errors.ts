import { CatalogApiError, CatalogConnectionError } from 'catalog-client';
import type { Texts } from '../texts/texts';

/** Returns what to tell the merchant about an error. */
export function messageOf(error: unknown, t: Texts): string {
  if (error instanceof CatalogConnectionError) return t.errors.connection;
  if (!(error instanceof CatalogApiError)) return t.errors.unknown;
  switch (error.status) {
    case 403:
      return t.errors.notAllowed;
    case 404:
      return t.errors.notFound;
    case 412:
      return t.errors.changedMeanwhile;
    case 429:
      return t.errors.tooMany;
    default:
      return error.status >= 500 ? t.errors.unavailable : error.message;
  }
}

/** Returns the reason why each field was refused, by the name of the field, such as `price_amount` or `variants.3.sku`. */
export function fieldErrorsOf(error: unknown, t: Texts): Readonly<Record<string, string>> {
  if (!(error instanceof CatalogApiError)) return {};
  return Object.fromEntries(
    (error.details?.errors ?? []).map(({ field, constraint, code }) => {
      if (code === 'CONFLICT') return [field, t.errors.taken];
      return [field, code === 'FIELD_REQUIRED' ? t.errors.required : t.errors.expected(constraint)];
    }),
  );
}
