import type { Request } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';
import { hasBody } from './body';
import type { Principal } from './principal';
import { readForm } from './upload-form';

/** What a route that takes a file does with it. */
export interface Upload {
  /** Of the file alone. */
  readonly bytes_max: number;
  /** Keeps the bytes as they come, and tells what stands for them as the body's `file`. Throws what refuses them. */
  readonly keep: (principal: Principal, bytes: AsyncIterable<Uint8Array>) => Promise<JsonObject>;
}

/** What a form may have around its file: delimiters, parts' headers, texts. */
const FORM_BYTES_MAX = 262_144;

/**
 * The body of a request that brings a file: a form with the part `file` and texts, or the bytes alone with an `image/*`
 * type. Never more of the file in memory than a chunk. `{}` where there is no body. Throws `unsupported_content_type`,
 * `too_large`, `field_required` for an empty file, `malformed_request` where it breaks off, what `keep` throws, and what
 * `admit` throws of a form's text, by its name.
 */
export async function receiveUpload(
  req: Request,
  upload: Upload,
  principal: Principal,
  admit: (field: string) => void,
): Promise<JsonObject> {
  if (!hasBody(req)) return {};
  const type = req.is(['multipart/form-data', 'image/*']);
  if (!type || (req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new CatalogError('unsupported_content_type', {
      message: 'The Content-Type must be multipart/form-data or image/*, without a Content-Encoding',
    });
  const form = type === 'multipart/form-data';
  // What says that it is too large is not read at all.
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > upload.bytes_max + (form ? FORM_BYTES_MAX : 0)) throw tooLarge(upload);
  const keep = (bytes: AsyncIterable<Uint8Array>) => upload.keep(principal, measured(bytes, upload));
  if (form) return readForm(req, keep, admit);
  return { file: await keep(bytesOf(req)) };
}

/** Leaves the connection open at its end, for an answer must still go out on it. */
async function* bytesOf(req: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new CatalogError('malformed_request', { message: 'The request broke off', cause });
  }
}

async function* measured(bytes: AsyncIterable<Uint8Array>, upload: Upload): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > upload.bytes_max) throw tooLarge(upload);
    yield chunk;
  }
  if (size === 0)
    throw CatalogError.ofFaults([
      { condition: 'field_required', field: 'file', constraint: 'a file that is not empty' },
    ]);
}

function tooLarge({ bytes_max }: Upload): CatalogError {
  return new CatalogError('too_large', { message: `The file is larger than ${bytes_max} bytes` });
}
