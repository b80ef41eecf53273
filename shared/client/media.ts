import type { z } from 'zod';
import type { uploadForm } from '../api/requests/writes';
import type { Media } from '../api/responses/resources';
import type { Calls } from './calls';
import type { DataOf, QueryOf } from './endpoints';
import type { CallOptions, ReadOptions, WriteOptions } from './options';

/** What an upload may say besides the file. */
export type UploadFields = Omit<z.input<typeof uploadForm>, 'file'>;

/** How often it is asked whether pictures are made. */
const POLL_MS = 500;

/** Media: the pictures of publications and listings. */
export class MediaCalls {
  constructor(private readonly calls: Calls) {}

  get(id: string, query: QueryOf<'getMedia'> = {}, options: ReadOptions<Media> = {}): Promise<Media> {
    return this.calls.read('getMedia', { id, query }, options);
  }

  /**
   * Takes in a JPEG, PNG, WebP, GIF or AVIF of at most 10 MB. The pictures are made after the answer: `processed`
   * waits for them.
   *
   * @param file In a browser the file of an input; in Node.js `await openAsBlob('tea.jpg')` of `node:fs`.
   * @example
   * const { id } = await client.media.upload(file, { alt: 'A cup of tea', publication_id: tea.id });
   * const { url, variants } = await client.media.processed(id);
   */
  upload(file: Blob, fields: UploadFields = {}, options: WriteOptions = {}): Promise<Media> {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.set(name, value);
    body.set('file', file);
    return this.calls.write('uploadMedia', { body }, options);
  }

  /** The media when its pictures are made (`ready`), or cannot be (`failed`). Waits until then, or the signal's end. */
  async processed(id: string, { signal }: CallOptions = {}): Promise<Media> {
    for (;;) {
      const media = await this.get(id, {}, signal === undefined ? {} : { signal });
      if (media.status !== 'processing') return media;
      await this.calls.transport.clock.wait(POLL_MS, signal);
    }
  }

  /** It is taken off everything that shows it. */
  delete(id: string, options: WriteOptions = {}): Promise<DataOf<'deleteMedia'>> {
    return this.calls.write('deleteMedia', { id }, options);
  }
}
