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
export function fieldErrorsOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof CatalogApiError)) return {};
  const faults = error.details?.errors ?? (error.details ? [error.details] : []);
  return Object.fromEntries(
    faults.flatMap(({ field, constraint }) => (field ? [[field, constraint ?? error.message]] : [])),
  );
}
