import type { IncomingHttpHeaders } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import typeIs from 'type-is';
import { UNKNOWN_FIELD } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError, type Fault } from '../kernel/errors';
import { bytesOf, hasBody, incomplete, isDisconnection } from './body';
import type { HttpRequest, Principal } from './request';

/** How a route handles the file of a request. */
export interface Upload {
  /** The media types of the body. One besides a form is that of the file alone. */
  readonly types: readonly string[];
  /** Maximum size of the file, without the form around it. */
  readonly bytes_max: number;
  /**
   * Stores the bytes while they arrive. Returns the value of `file` in the body that the handler gets. Rejects if the file
   * is not accepted.
   */
  readonly keep: (
    principal: Principal,
    bytes: AsyncIterable<Uint8Array>,
    file_name: string,
  ) => Promise<JsonObject>;
  /** Called with the result of `keep` when the request is answered, also if it was refused. */
  readonly discard?: (file: JsonObject) => Promise<void>;
}

/** Maximum size of everything else in a form: delimiters, part headers and text fields. */
const FORM_BYTES_MAX = 262_144;

/**
 * Reads the body of an upload: a form with the part `file` and text fields, or the file alone with another of `upload.types`.
 * Keeps only one chunk of the file in memory. Returns `{}` if there is no body. Rejects with
 * `unsupported_content_type`, with `too_large`, with `field_required` for an empty file, with `malformed_request` if
 * the request is incomplete, and with errors of `upload.keep` and `assertField`. Calls `assertField` with the name of each
 * text field that is not empty.
 */
export async function receiveUpload(
  req: HttpRequest,
  upload: Upload,
  principal: Principal,
  assertField: (field: string) => void,
): Promise<JsonObject> {
  if (!hasBody(req)) return {};
  const type = typeIs(req, [...upload.types]);
  if (!type || (req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new CatalogError('unsupported_content_type', {
      message: `The Content-Type must be ${upload.types.join(' or ')}, without a Content-Encoding`,
    });
  const form = type === 'multipart/form-data';
  // Refuse a file that is too large before reading it.
  const content_length = Number(req.headers['content-length'] ?? 0);
  if (content_length > upload.bytes_max + (form ? FORM_BYTES_MAX : 0)) throw tooLarge(upload);
  const keep = (bytes: AsyncIterable<Uint8Array>, file_name: string) =>
    upload.keep(principal, bytes, file_name);
  if (!form) return { file: await keep(checkSize(bytesOf(req), upload), '') };
  const { fields, file } = await receiveForm(req, { ...upload, keep }, assertField);
  const texts = Object.fromEntries([...fields].filter(([, value]) => value !== ''));
  return file === undefined ? texts : { ...texts, [FILE]: file };
}

/** How the file of a form is handled. */
interface FormFile {
  readonly bytes_max: number;
  /** Takes the bytes while they arrive. Rejects if the file is not accepted. */
  readonly keep: (bytes: AsyncIterable<Uint8Array>, file_name: string) => Promise<JsonObject>;
  readonly discard?: Upload['discard'];
}

type SizeLimit = Pick<Upload, 'bytes_max'>;

/** Yields the chunks. Throws `too_large` above `bytes_max`, and `field_required` if there are no bytes. */
async function* checkSize(bytes: AsyncIterable<Uint8Array>, upload: SizeLimit): AsyncGenerator<Uint8Array> {
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

function tooLarge({ bytes_max }: SizeLimit): CatalogError {
  return new CatalogError('too_large', { message: `The file is larger than ${bytes_max} bytes` });
}

/** Name of the parts with files. All other parts are text fields. */
const FILE = 'file';
/** Larger than the longest valid field. */
const FIELD_BYTES_MAX = 8_192;
const FIELDS_MAX = 20;
/** The parser replaces bytes that are invalid in their charset by this character. */
const REPLACEMENT = '\ufffd';

/**
 * Reads a `multipart/form-data` form. Returns its text fields, and the result of `keep` for the part named `file`.
 * Rejects with errors of `keep` and `assertField`, with `too_large`, with `field_required` for an empty file, with
 * `field_invalid` for repeated fields and other files, and with `malformed_request` for an invalid or incomplete form and
 * for text that is not valid UTF-8. Rejects only after `keep` has ended, and discards what is still sent: browsers do not
 * show an answer before they have sent the form.
 */
function receiveForm(
  req: HttpRequest,
  { bytes_max, keep, discard }: FormFile,
  assertField: (field: string) => void,
): Promise<{ readonly fields: URLSearchParams; readonly file: JsonObject | undefined }> {
  return new Promise((resolve, reject) => {
    const parser = openParser(req.headers);
    const fields = new URLSearchParams();
    let part: Readable | undefined;
    let file: Promise<JsonObject> | undefined;
    let failed = false;
    const fail = (error: unknown): void => {
      if (failed) return;
      failed = true;
      req.unpipe(parser);
      part?.destroy(error as Error);
      void (async () => {
        const [kept] = await Promise.allSettled([file]);
        if (kept?.status === 'fulfilled' && kept.value) await discard?.(kept.value).catch(() => undefined);
        req.resume();
        reject(error);
      })();
    };
    parser.on('file', (name, bytes, file_name) => {
      // Whoever reads the part receives its errors. A part that nobody reads needs this listener: an `error` event without
      // a listener would end the process.
      bytes.on('error', () => {});
      if (failed || name !== FILE || file) {
        bytes.resume();
        fail(fieldError(name, name === FILE ? 'a single file' : UNKNOWN_FIELD));
        return;
      }
      part = bytes;
      file = keep(checkSize(bytes, { bytes_max }), file_name);
      file.catch(fail);
    });
    parser.on('field', (name, value, _name_truncated, truncated) => {
      try {
        if (truncated) throw fieldError(name, `at most ${FIELD_BYTES_MAX} bytes`, 'field_too_long');
        if (fields.has(name)) throw fieldError(name, 'a single value');
        if (value.includes(REPLACEMENT)) throw malformed(`The text of ${name} is not valid UTF-8`);
        if (value !== '') assertField(name);
        fields.set(name, value);
      } catch (error) {
        fail(error);
      }
    });
    for (const limit of ['partsLimit', 'fieldsLimit', 'filesLimit'])
      parser.on(limit, () => fail(malformed('The form has too many parts')));
    parser.on('error', (error) => fail(toFormError(error)));
    parser.on('finish', () => {
      if (failed) return;
      Promise.resolve(file).then((kept) => resolve({ fields, file: kept }), fail);
    });
    finished(req, { writable: false }, (error) => {
      if (error) fail(isDisconnection(error) ? incomplete(error) : error);
    });
    req.pipe(parser);
  });
}

/** Throws `malformed_request` if the Content-Type has no boundary. */
function openParser(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      isPartAFile: (name, _type, filename) => name === FILE || filename !== undefined,
      // One file and one part more than is valid, so that a file too many is reported as such, not as too many parts.
      limits: {
        fieldSize: FIELD_BYTES_MAX,
        fields: FIELDS_MAX,
        files: 2,
        parts: FIELDS_MAX + 2,
        headerPairs: 20,
      },
    });
  } catch (error) {
    throw toFormError(error);
  }
}

/**
 * Returns `malformed_request` if the form parser threw the error. Otherwise returns `error`, which becomes an internal
 * error. The parser throws plain `Error`s without a code; bugs of the service and failures of Node do not look like that.
 */
function toFormError(error: unknown): unknown {
  const is_of_parser = error instanceof Error && error.name === 'Error' && !('code' in error);
  return is_of_parser ? malformed('The form cannot be read', error) : error;
}

function malformed(message: string, cause?: unknown): CatalogError {
  return new CatalogError('malformed_request', { message, cause });
}

function fieldError(
  field: string,
  constraint: string,
  condition: Fault['condition'] = 'field_invalid',
): CatalogError {
  return CatalogError.ofFaults([{ condition, field, constraint }]);
}
