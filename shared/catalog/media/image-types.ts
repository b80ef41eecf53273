import type { Environment } from '../realm';
import type { ImageType } from '../vocabulary';

/** Number of bytes at the start of a file that decide its format. AVIF needs the most, for its compatible brands. */
export const SNIFF_BYTES = 64;

/**
 * Returns the format of a file from its first `SNIFF_BYTES` bytes. A file may be shorter. Ignores the file name and the
 * declared type, because a client can set them to anything. Returns undefined for formats that uploads do not support,
 * such as SVG, TIFF, HEIC, PDF and HTML.
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

/**
 * Returns the brands of an ISO base media file (ISO/IEC 14496-12 §4.3). Its first box contains the size of the box,
 * `ftyp`, the major brand, a version number and the compatible brands, of four bytes each.
 */
function brandsOf(bytes: Buffer, text: string): string[] {
  const end = Math.min(bytes.readUInt32BE(0), bytes.length);
  const brands = [text.slice(8, 12)];
  for (let start = 16; start + 4 <= end; start += 4) brands.push(text.slice(start, start + 4));
  return brands;
}

/** The file extension of each type. */
const EXTENSIONS: Readonly<Record<ImageType, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
};

/** Returns the public path of a picture. The path contains the hash of the picture, so its content never changes. */
export function pictureAddress(
  environment: Environment,
  { hash, mime_type }: { readonly hash: string; readonly mime_type: ImageType },
): string {
  return `/media/${environment}/${hash}.${EXTENSIONS[mime_type]}`;
}

/** Returns the type of a file with this extension, or undefined if no type of picture has this extension. */
export function typeOfExtension(extension: string): ImageType | undefined {
  const entry = Object.entries(EXTENSIONS).find(([, candidate]) => candidate === extension);
  return entry?.[0] as ImageType | undefined;
}
