import {
  CatalogApiError,
  CatalogConnectionError,
  CatalogProposedError,
  type ErrorInfo,
} from 'catalog-client';
import type { Texts } from '../texts/texts';
import { translatedFault } from './translations';

type Fault = NonNullable<ErrorInfo['details']>['errors'][number];

/** Returns what to tell the merchant about an error. */
export function messageOf(error: unknown, t: Texts): string {
  if (error instanceof CatalogProposedError) return t.errors.proposed;
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
    (error.details?.errors ?? []).map((fault) => [translatedFault(fault.field), wordFault(fault, t)]),
  );
}

/** Returns the reason why a field was refused. */
export function wordFault({ constraint, code }: Fault, t: Texts): string {
  if (code === 'CONFLICT') return t.errors.taken;
  return code === 'FIELD_REQUIRED' ? t.errors.required : t.errors.expected(constraint);
}
