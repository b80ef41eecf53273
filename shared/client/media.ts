import type { Media, MediaUse, Upload } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, DataOf, QueryOf } from './operations.js';
import type { CallOptions, ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** The fields of an upload besides the file. */
export type UploadFields = Omit<Upload, 'file'>;

/** Time between two requests for the status of an upload. */
const POLL_INTERVAL_MS = 500;

/** Media: the pictures of publications and listings. */
export class MediaCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists the store's media, or those of a publication or listing in the order of its `media_ids`.
   *
   * @example
   * for await (const { url, alt } of client.media.list({ publication_id: tea.id })) show(url, alt);
   */
  list(query: QueryOf<'listMedia'> = {}, options: ListOptions = {}): Pages<Media, AnswerOf<'listMedia'>> {
    return listOf((page) => this.calls.page('listMedia', { query: page }, options), query);
  }

  /**
   * Lists the publications and listings that show a media. Requires a secret key.
   *
   * @example
   * for await (const { object, title } of client.media.uses(id)) console.log(object, title);
   */
  uses(
    id: string,
    query: QueryOf<'listMediaUses'> = {},
    options: ListOptions = {},
  ): Pages<MediaUse, AnswerOf<'listMediaUses'>> {
    return listOf((page) => this.calls.page('listMediaUses', { id, query: page }, options), query);
  }

  /** Returns a media record. */
  get(id: string, query: QueryOf<'getMedia'> = {}, options: ReadOptions<Media> = {}): Promise<Media> {
    return this.calls.read('getMedia', { id, query }, options);
  }

  /**
   * Uploads a JPEG, PNG, WebP, GIF or AVIF of at most 10 MiB. The service generates the pictures after it responds;
   * `processed` waits for them.
   *
   * @param file In a browser, the `File` of an input. In Node.js, `await openAsBlob('tea.jpg')` from `node:fs`.
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

  /**
   * Waits until the pictures of an upload are generated, and returns the media: `ready`, or `failed` if the file
   * cannot be decoded. Has no time limit of its own; pass a `signal` to set one.
   *
   * @example
   * const { status, url } = await client.media.processed(id, { signal: AbortSignal.timeout(60_000) });
   */
  async processed(id: string, options: CallOptions = {}): Promise<Media> {
    const { next, ...fetch_options } = options.fetchOptions ?? {};
    // A cache would repeat the status that it knows.
    const uncached: ReadOptions<Media> = {
      ...options,
      fetchOptions: { ...fetch_options, cache: 'no-store' },
    };
    for (;;) {
      const media = await this.get(id, {}, uncached);
      if (media.status !== 'processing') return media;
      await this.calls.transport.clock.wait(POLL_INTERVAL_MS, options.signal);
    }
  }

  /**
   * Changes the alternative text or the focal point of a media; null clears it.
   *
   * @example
   * await client.media.update(id, { alt: 'A cup of tea', focal_point: { x: 0.5, y: 0.3 } });
   */
  update(id: string, body: BodyOf<'updateMedia'>, options: WriteOptions = {}): Promise<Media> {
    return this.calls.write('updateMedia', { id, body }, options);
  }

  /** Deletes a media and removes it from the store, listings and publications that show it. */
  delete(id: string, options: WriteOptions = {}): Promise<DataOf<'deleteMedia'>> {
    return this.calls.write('deleteMedia', { id }, options);
  }
}
