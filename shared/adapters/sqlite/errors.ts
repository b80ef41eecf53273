import { CatalogError } from '../../kernel/errors';

/** Another connection holds a lock that this one needs: the same call may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error));
}

/**
 * What a caller may be told of a failure: locks that were held too long are `database_timeout`, a disk or file that
 * fails is `unavailable`; anything else (a broken constraint, a mistake in a statement) stays what it is.
 */
export function toCatalogError(error: unknown): unknown {
  if (isBusy(error)) return new CatalogError('database_timeout', { cause: error });
  if (/^SQLITE_(IOERR|FULL|CANTOPEN|READONLY|CORRUPT|NOTADB|NOMEM|PERM)/.test(codeOf(error)))
    return new CatalogError('unavailable', { cause: error });
  return error;
}

/** Bytes that are no database, or no longer one. Also of what `toCatalogError` made of it. */
export function isDamage(error: unknown): boolean {
  return (
    /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error)) || (error instanceof CatalogError && isDamage(error.cause))
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
