/** Header and logical screen descriptor (GIF89a §17, §18). */
const SCREEN_BYTES = 13;
const DESCRIPTOR_BYTES = 10;
const EXTENSION = 0x21;
const IMAGE = 0x2c;

/**
 * Returns whether a GIF ends within a block. Decoders do not report this: they return the frames before that block. A
 * missing trailer byte, or bytes after the trailer, are accepted.
 */
export function isTruncatedGif(bytes: Uint8Array): boolean {
  let offset = SCREEN_BYTES + colourTableBytes(bytes[10]);
  for (;;) {
    const block = bytes[offset];
    if (block === EXTENSION) offset = skipSubBlocks(bytes, offset + 2);
    else if (block === IMAGE) {
      const table = colourTableBytes(bytes[offset + DESCRIPTOR_BYTES - 1]);
      offset = skipSubBlocks(bytes, offset + DESCRIPTOR_BYTES + table + 1);
    } else return offset > bytes.length;
  }
}

/** Returns the size of the colour table that the packed flags announce, or 0 if there is none. */
const colourTableBytes = (flags = 0): number => (flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0);

/**
 * Returns the offset after the sub-blocks that begin at `first`. Returns an offset past the end if their terminator is
 * missing.
 */
function skipSubBlocks(bytes: Uint8Array, first: number): number {
  let offset = first;
  for (;;) {
    const length = bytes[offset];
    if (length === undefined) return bytes.length + 1;
    offset += length + 1;
    if (length === 0) return offset;
  }
}
