import { errorCatalogue } from '../../shared/api/error-catalogue';
import { CatalogError } from '../../shared/kernel/errors';

/** Failures that are not the row's: the import cannot go on. */
const NOT_THE_ROW = new Set(['unavailable', 'database_timeout', 'internal']);

/** Why the write side refused a row, in one line; undefined where the failure is not the row's. */
export function rejectionReason(error: unknown): string | undefined {
  if (!(error instanceof CatalogError) || NOT_THE_ROW.has(error.condition)) return undefined;
  return describeRejection(error);
}

/** Every fault by its field, or else what the condition means. */
export function describeRejection(error: CatalogError): string {
  if (error.faults.length > 0)
    return error.faults.map(({ field, constraint }) => `${field}: ${wording(constraint)}`).join('; ');
  return error.message || errorCatalogue[error.condition].message;
}

/** A constraint says what the value should have been. */
function wording(constraint: string): string {
  return constraint === 'required' ? 'is required' : `must be ${constraint}`;
}
