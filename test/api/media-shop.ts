import { randomBytes, randomUUID } from 'node:crypto';
import { recordResult, uploadMedia } from '../../services/command/media';
import type { ImageType } from '../../shared/catalog/vocabulary';
import type { MediaId } from '../../shared/kernel/ids';
import type { Harness, Reply, Shop } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';

export type Query = Readonly<Record<string, string>>;

/** A shop with helpers to upload pictures. */
export class MediaShop {
  private constructor(
    readonly harness: Harness,
    readonly shop: Shop,
    readonly png: Buffer,
  ) {}

  /** Default: a new shop. */
  static async of(harness: Harness, shop?: Shop): Promise<MediaShop> {
    return new MediaShop(
      harness,
      shop ?? (await harness.newShop()),
      await flatPicture('png', { width: 30, height: 20 }),
    );
  }

  get token(): string {
    return this.shop.secret.token;
  }

  /** Uploads a file as the request body. */
  send(
    bytes: Uint8Array,
    { query = {}, headers = {}, token = this.token }: Partial<UploadOptions> = {},
  ): Promise<Reply> {
    const path = `/api/media?${new URLSearchParams(query)}`;
    return this.harness.request('POST', path, {
      token,
      body: new Blob([new Uint8Array(bytes)]),
      headers: { 'content-type': 'image/png', ...headers },
    });
  }

  /** Uploads a file as a multipart form, like a browser. */
  sendForm(
    parts: Readonly<Record<string, string | Uint8Array>>,
    headers: Query = {},
    token = this.token,
  ): Promise<Reply> {
    const form = new FormData();
    for (const [name, part] of Object.entries(parts))
      if (typeof part === 'string') form.append(name, part);
      else form.append(name, new Blob([new Uint8Array(part)]), 'a name.txt');
    return this.harness.request('POST', '/api/media', { token, body: form, headers });
  }

  async upload(query: Query = {}): Promise<string> {
    const reply = await this.send(this.png, { query });
    if (reply.status !== 201) throw new Error(`upload failed: ${reply.text}`);
    return reply.body.data.id;
  }

  /** Appends a media to the log without a file and a task. It stays `processing` until the test calls `makeReady`. */
  async record(): Promise<string> {
    return (await this.recordMany(1))[0]!;
  }

  /** The same for several, each a millisecond after the one before, with one wait for all of them to be projected. */
  async recordMany(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      ids.push(await this.recordUpload());
      const ended_ms = Date.now();
      await waitFor(() => Date.now() > ended_ms);
    }
    await this.harness.settled();
    return ids;
  }

  private async recordUpload(): Promise<string> {
    const hash = randomBytes(32).toString('hex');
    const image = { hash, mime_type: 'image/png', size_bytes: 1000, width: 30, height: 20 } as const;
    const target = { environment: 'live', store_id: this.shop.store_id } as const;
    const context = { source: 'api', request_id: randomUUID() } as const;
    const { value } = await uploadMedia(this.harness.deps, context, target, { ...image, alt: null });
    return value.id;
  }

  /** Makes a media ready, like a worker. All its pictures have the given bytes. */
  async makeReady(id: string, bytes: Buffer, mime_type: ImageType = 'image/png'): Promise<void> {
    const { pictures } = this.harness.service.runtime.blobs.live;
    const { hash, size_bytes } = await pictures.put(once(bytes));
    const image = { hash, mime_type, size_bytes, width: 30, height: 20 };
    const made = {
      picture: image,
      variants: (['thumb', 'small', 'medium', 'large'] as const).map((name) => ({ name, ...image })),
      placeholder: 'data:image/webp;base64,AA==',
    };
    const context = { source: 'system', request_id: randomUUID() } as const;
    await recordResult(this.harness.deps, context, 'live', id as MediaId, {
      type: 'RecordPictures',
      pictures: made,
    });
    await this.harness.settled();
  }

  get(path: string, headers: Query = {}, token = this.token): Promise<Reply> {
    return this.harness.request('GET', path, { token, headers });
  }

  /** Waits until the worker has made the pictures. */
  ready(id: string): Promise<Reply> {
    return waitFor(
      async () => {
        const reply = await this.get(`/api/media/${id}`);
        return reply.body.data?.status === 'ready' ? reply : undefined;
      },
      { what: `media ${id} to be ready` },
    );
  }

  async publication(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { title: 'Tea', price_currency: 'USD', price_amount: 100, ...fields };
    const reply = await this.harness.request('POST', '/api/publication', { token: this.token, body });
    if (reply.status !== 201) throw new Error(`publication not created: ${reply.text}`);
    return reply.body.data.id;
  }

  async listing(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { name: 'Teas', ...fields };
    const reply = await this.harness.request('POST', '/api/listing', { token: this.token, body });
    if (reply.status !== 201) throw new Error(`listing not created: ${reply.text}`);
    return reply.body.data.id;
  }
}

interface UploadOptions {
  readonly query: Query;
  readonly headers: Query;
  readonly token: string;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
