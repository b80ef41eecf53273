import type { IncomingHttpHeaders } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Request } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError, type Fault } from '../kernel/errors';

/** The part that holds the file; every other part is a text. */
const FILE = 'file';
/** Beyond every field of the interface, in bytes. */
const FIELD_BYTES_MAX = 8_192;
const FIELDS_MAX = 20;
/** What the parser puts where bytes are no text of their charset; it is in no text that anybody means. */
const REPLACEMENT = '\ufffd';

/**
 * A form as an object of its texts, with what `keep` makes of the part `file`. The bytes go through as they come. A text
 * that is empty counts as not filled in. Throws what `keep` and `admit`, asked of every text that comes, throw; `field_invalid` for parts that repeat or other files,
 * `malformed_request` for what is no form, a text that is no UTF-8 (or of the charset that its part names), or what breaks off. Whatever it throws, `keep` has ended.
 */
export function readForm(
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
      // Its own errors reach whoever reads it; the one of a part that nobody reads must not be unheard.
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
