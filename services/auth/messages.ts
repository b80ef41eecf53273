import { CatalogError, type Condition } from '../../shared/kernel/errors';

/** To the letter (spec, "Authentication errors on the /auth endpoints"). */
export const KEY_REQUIRED = 'X-API-Key header required';
export const KEY_INVALID = 'Invalid API key';
export const TOKEN_INVALID = 'Invalid or expired token';
export const BEARER_REQUIRED = 'Bearer token required in Authorization header';

export type Messages = Partial<Record<Condition, string>>;

/** Runs `check`; a refusal under one of these conditions is worded so, every other failure stays what it is. */
export async function worded<Result>(messages: Messages, check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    const message = error instanceof CatalogError ? messages[error.condition] : undefined;
    if (message === undefined) throw error;
    throw new CatalogError((error as CatalogError).condition, { message, cause: error });
  }
}
