import type { Environment } from '../realm';
import type { ImageType } from '../vocabulary';

/** What each type's files end in. */
const EXTENSIONS: Readonly<Record<ImageType, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
};

/** Where anybody may load the bytes: the path names them by their hash, so it never shows anything else. */
export function pictureAddress(
  environment: Environment,
  { hash, mime_type }: { readonly hash: string; readonly mime_type: ImageType },
): string {
  return `/media/${environment}/${hash}.${EXTENSIONS[mime_type]}`;
}

/** The type that a file of this name has; undefined where it is no picture's. */
export function typeOfExtension(extension: string): ImageType | undefined {
  const found = Object.entries(EXTENSIONS).find(([, known]) => known === extension);
  return found?.[0] as ImageType | undefined;
}
