import { isDeepStrictEqual } from 'node:util';

/**
 * Same as `expect(actual).toEqual(expected)`, which takes seconds for megabytes of bytes or hundreds of documents.
 * Compares with Node's deep equality first, which is stricter and many times faster.
 */
export function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}
