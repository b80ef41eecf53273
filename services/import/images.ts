import { ALT_MAX } from '../../shared/catalog/media/fields';
import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import { Semaphore } from '../../shared/kernel/async';
import type { MediaId, PublicationId } from '../../shared/kernel/ids';
import { findUsable, mediaIdOf, type StoreIdentity } from './identity';
import type { ImageAddress, PublicationItem } from './item';
import { rejectionReason, type Tally } from './report';
import type { CatalogWriter } from './writer';

/** Fetches a URL and streams its bytes to `use`. Throws `FetchError` if that fails. */
export type FetchImage = <Result>(
  url: string,
  use: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
) => Promise<Result>;

const CONCURRENT_FETCHES = 4;
type FetchResult =
  | { readonly outcome: 'created' | 'unchanged'; readonly media_id: MediaId }
  | { readonly outcome: 'failed'; readonly reason: string };

/** Fetches and uploads the images of an import. Fetches each URL once, even if several publications use it. */
export class Images {
  private readonly by_url = new Map<string, Promise<FetchResult>>();
  private readonly fetches = new Semaphore(CONCURRENT_FETCHES);

  constructor(
    private readonly store: StoreIdentity,
    private readonly writer: CatalogWriter,
    /** If undefined, no image is fetched or attached. */
    private readonly fetch: FetchImage | undefined,
    private readonly tally: Tally,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Uploads the images of a publication and attaches them to it. Reports an image that fails, and continues. */
  async attach(publication_id: PublicationId, item: PublicationItem): Promise<void> {
    const { line, external_id, images } = item;
    if (images.length === 0) return;
    let attached = this.fetch ? [] : await this.writer.attachedMedia(publication_id);
    const noteOf = ({ url }: ImageAddress, reason: string) => ({
      ...{ line, external_id },
      reason: `image ${url}: ${reason}`,
    });
    const media_ids: (MediaId | null)[] = await Promise.all(
      images.map(async (image, index) => {
        if (this.signal?.aborted) return null;
        if (index >= PUBLICATION_MEDIA_MAX) {
          const reason = `skipped: a publication has at most ${PUBLICATION_MEDIA_MAX} images`;
          this.tally.warn(noteOf(image, reason));
          return null;
        }
        if (this.fetch === undefined) return attached.length === 0 ? null : (await this.find(image)).id;
        if ([...(image.alt ?? '')].length > ALT_MAX)
          this.tally.warn(noteOf(image, `the alternative text was cut to ${ALT_MAX} characters`));
        const result = await this.fetchOnce(image, this.fetch);
        // A fetch that was aborted is not reported as a failure. The next run repeats it.
        if (result.outcome === 'failed' && this.signal?.aborted) return null;
        if (result.outcome === 'failed') this.tally.fail('media', noteOf(image, result.reason));
        else this.tally.count('media', result.outcome);
        return result.outcome === 'failed' ? null : result.media_id;
      }),
    );
    const uploaded = media_ids.filter((id) => id !== null);
    if (this.fetch && uploaded.length > 0) {
      const pictures = (item.variant_images ?? []).flatMap(({ url, option_values }) => {
        const media_id = media_ids[images.findIndex((image) => image.url === url)];
        return media_id ? [{ option_values, media_id }] : [];
      });
      const unique = [...new Set(uploaded)];
      this.tally.addEffects(item, await this.writer.attachMedia(publication_id, unique, pictures));
      attached = await this.writer.attachedMedia(publication_id);
    }
    const reported = images.map((image, index) => ({
      ...image,
      media_id: attached.find((id) => id === media_ids[index]) ?? null,
    }));
    this.tally.addImages(line, { publication_id, external_id, images: reported });
  }

  private async fetchOnce(image: ImageAddress, fetch: FetchImage): Promise<FetchResult> {
    const earlier = this.by_url.get(image.url);
    if (earlier) {
      const result = await earlier;
      return result.outcome === 'created' ? { ...result, outcome: 'unchanged' } : result;
    }
    const fetching = this.fetches.run(() => this.upload(image, fetch));
    this.by_url.set(image.url, fetching);
    return fetching;
  }

  /** Uploads an image, unless it exists already. */
  private async upload(image: ImageAddress, fetch: FetchImage): Promise<FetchResult> {
    const { url, alt } = image;
    const { id: media_id, is_present } = await this.find(image);
    if (is_present) return { outcome: 'unchanged', media_id };
    try {
      await fetch(url, (bytes) => this.writer.uploadMedia(media_id, bytes, alt));
      return { outcome: 'created', media_id };
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      return { outcome: 'failed', reason };
    }
  }

  private async find({ url, media_id }: ImageAddress) {
    const known_id = media_id as MediaId | undefined;
    if (known_id && (await this.writer.media(known_id)) === 'present')
      return { id: known_id, is_present: true };
    return findUsable((generation) => mediaIdOf(this.store, url, generation), this.writer.media);
  }
}
