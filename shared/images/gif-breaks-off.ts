/** Header and logical screen descriptor (GIF89a §17, §18). */
const SCREEN_BYTES = 13;
const DESCRIPTOR_BYTES = 10;
const EXTENSION = 0x21;
const IMAGE = 0x2c;

/**
 * Whether a GIF ends in the midst of a block. Decoders show the frames before and say nothing; one that only lacks its
 * last byte, or has something behind it, is whole.
 */
export function gifBreaksOff(bytes: Uint8Array): boolean {
  let at = SCREEN_BYTES + tableBytes(bytes[10]);
  for (;;) {
    const block = bytes[at];
    if (block === EXTENSION) at = afterParts(bytes, at + 2);
    else if (block === IMAGE) {
      const table = tableBytes(bytes[at + DESCRIPTOR_BYTES - 1]);
      at = afterParts(bytes, at + DESCRIPTOR_BYTES + table + 1);
    } else return at > bytes.length;
  }
}

/** Of a colour table, by the flags of what it belongs to; 0 where there is none. */
const tableBytes = (flags = 0): number => (flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0);

/** Behind a row of parts, each with its length before it, that an empty one ends; past the end where none does. */
function afterParts(bytes: Uint8Array, first: number): number {
  let at = first;
  for (;;) {
    const length = bytes[at];
    if (length === undefined) return bytes.length + 1;
    at += length + 1;
    if (length === 0) return at;
  }
}
