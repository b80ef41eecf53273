import type { Environment } from '../realm';
import type { ImageType } from '../vocabulary';

/** The file extension of each type. */
const EXTENSIONS: Readonly<Record<ImageType, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
};

/** Returns the public path of a picture. It contains the hash of the bytes, so the content of a path never changes. */
export function pictureAddress(
  environment: Environment,
  { hash, mime_type }: { readonly hash: string; readonly mime_type: ImageType },
): string {
  return `/media/${environment}/${hash}.${EXTENSIONS[mime_type]}`;
}

/** Returns the type of a file with this extension, undefined if it is not one of a picture. */
export function typeOfExtension(extension: string): ImageType | undefined {
  const entry = Object.entries(EXTENSIONS).find(([, candidate]) => candidate === extension);
  return entry?.[0] as ImageType | undefined;
}
