import type { IncomingHttpHeaders } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Request } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError, type Fault } from '../kernel/errors';
import { hasBody } from './body';
import type { Principal } from './request';

/** What a route that takes a file does with it. */
export interface Upload {
  /** The limit of the file alone. */
  readonly bytes_max: number;
  /** Stores the bytes as they arrive and returns what the handler gets as the body's `file`. Rejects to refuse them. */
  readonly keep: (principal: Principal, bytes: AsyncIterable<Uint8Array>) => Promise<JsonObject>;
}

/** What a form may add around its file: delimiters, part headers, texts. */
const FORM_BYTES_MAX = 262_144;

/**
 * Reads the body of a request that uploads a file: a form with the part `file` and texts, or the bytes alone with an
 * `image/*` type. Holds one chunk of the file in memory at a time. Returns `{}` if there is no body. Throws
 * `unsupported_content_type`, `too_large`, `field_required` for an empty file, `malformed_request` if the request breaks
 * off, what `keep` throws, and what `admit` throws for the name of a form's text.
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
  // A body that announces itself as too large is not read at all.
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > upload.bytes_max + (form ? FORM_BYTES_MAX : 0)) throw tooLarge(upload);
  const keep = (bytes: AsyncIterable<Uint8Array>) => upload.keep(principal, measured(bytes, upload));
  if (form) return readForm(req, keep, admit);
  return { file: await keep(bytesOf(req)) };
}

/** Leaves the connection open at the end: the answer must still go out on it. */
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

/** The part that holds the file. Every other part is a text. */
const FILE = 'file';
/** Larger than any field of the interface. */
const FIELD_BYTES_MAX = 8_192;
const FIELDS_MAX = 20;
/** What the parser puts in place of bytes that are no text of their charset. */
const REPLACEMENT = '\ufffd';

/**
 * Reads a form into an object of its texts, with what `keep` returns for the part `file`. An empty text counts as not
 * filled in. Rejects with what `keep` and `admit` throw, with `field_invalid` for repeated parts and other files, and
 * with `malformed_request` for what is no form, breaks off, or has a text that is not in its charset. Rejects only after
 * `keep` has ended.
 */
function readForm(
  req: Request,
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<JsonObject>,
  admit: (field: string) => void,
): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const parser = openParser(req.headers);
    const fields = new Map<string, string>();
    let part: Readable | undefined;
    let file: Promise<JsonObject> | undefined;
    let failed = false;
    const fail = (error: unknown): void => {
      if (failed) return;
      failed = true;
      req.unpipe(parser);
      part?.destroy(error as Error);
      void Promise.allSettled([file]).then(() => reject(error));
    };
    parser.on('file', (name, bytes) => {
      // Errors reach whoever reads the part. Without a listener, those of an unread part would be uncaught.
      bytes.on('error', () => {});
      if (failed || name !== FILE || file !== undefined) {
        bytes.resume();
        fail(faulty(name, name === FILE ? 'one file' : 'no field of this form'));
        return;
      }
      part = bytes;
      file = keep(bytes);
      file.catch(fail);
    });
    parser.on('field', (name, value, _name_cut, cut) => {
      try {
        if (cut) throw faulty(name, `at most ${FIELD_BYTES_MAX} bytes`, 'field_too_long');
        if (fields.has(name)) throw faulty(name, 'given only once');
        if (value.includes(REPLACEMENT)) throw malformed(`The text of ${name} is no UTF-8`);
        if (value !== '') admit(name);
        fields.set(name, value);
      } catch (error) {
        fail(error);
      }
    });
    for (const limit of ['partsLimit', 'fieldsLimit', 'filesLimit'])
      parser.on(limit, () => fail(malformed('The form has too many parts')));
    parser.on('error', (error) => fail(malformed('The form cannot be read', error)));
    parser.on('finish', () => {
      if (failed) return;
      const texts = Object.fromEntries([...fields].filter(([, value]) => value !== ''));
      if (file === undefined) resolve(texts);
      else file.then((kept) => resolve({ ...texts, [FILE]: kept }), fail);
    });
    finished(req, { writable: false }, (error) => {
      if (error) fail(malformed('The request broke off', error));
    });
    req.pipe(parser);
  });
}

/** Throws `malformed_request` where the header names no boundary. */
function openParser(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      isPartAFile: (name, _type, filename) => name === FILE || filename !== undefined,
      limits: {
        fieldSize: FIELD_BYTES_MAX,
        fields: FIELDS_MAX,
        files: 2,
        parts: FIELDS_MAX + 2,
        headerPairs: 20,
      },
    });
  } catch (error) {
    throw malformed('The form cannot be read', error);
  }
}

function malformed(message: string, cause?: unknown): CatalogError {
  return new CatalogError('malformed_request', { message, cause });
}

function faulty(
  field: string,
  constraint: string,
  condition: Fault['condition'] = 'field_invalid',
): CatalogError {
  return CatalogError.ofFaults([{ condition, field, constraint }]);
}
