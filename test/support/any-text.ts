import fc, { type StringConstraints } from 'fast-check';

/** Any code point except half of a surrogate pair. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code_point) => String.fromCodePoint(code_point));

/** Generates texts of any characters. `unit: 'binary'` does, too, but first spends a second of CPU on a table of them. */
export const anyText = (limits: Pick<StringConstraints, 'minLength' | 'maxLength'> = {}) =>
  fc.string({ ...limits, unit: character });
