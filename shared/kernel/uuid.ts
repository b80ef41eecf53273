const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Whether the text has the form of a UUID, in upper or lower case. Not part of `ids.ts`, which imports
 * `node:crypto`: code that also runs in a browser uses this file.
 */
export function isUuid(text: string): boolean {
  return UUID.test(text.toLowerCase());
}
