import type { ImageType } from '../vocabulary';

/** As many of a file's first bytes as are looked at. */
export const SNIFF_BYTES = 64;

/**
 * The format by a file's first bytes (as many as `SNIFF_BYTES`, or all where there are fewer), never by its name or by
 * what the client says of it. Undefined for everything that is not taken: SVG, TIFF, HEIC, PDF, HTML.
 */
export function sniffImage(head: Uint8Array): ImageType | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  const text = bytes.toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'image/webp';
  if (text.startsWith('ftyp', 4) && brandsOf(bytes, text).some(isAvif)) return 'image/avif';
  return undefined;
}

const isAvif = (brand: string): boolean => brand === 'avif' || brand === 'avis';

/** The brands of an ISO base media file (ISO/IEC 14496-12 §4.3): the major one, a version, then the compatible ones. */
function brandsOf(bytes: Buffer, text: string): string[] {
  const end = Math.min(bytes.readUInt32BE(0), bytes.length);
  const brands = [text.slice(8, 12)];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(text.slice(at, at + 4));
  return brands;
}
