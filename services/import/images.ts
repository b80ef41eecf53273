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
  /** `kept`: the alternative text was changed by hand, and is not that of the file. */
  | { readonly outcome: 'created' | 'updated' | 'unchanged' | 'kept'; readonly media_id: MediaId }
  | { readonly outcome: 'failed'; readonly reason: string };

/** Returns the URL, with the scheme that Shopify leaves out in some exports. */
const addressOf = ({ url }: ImageAddress): string => (url.startsWith('//') ? `https:${url}` : url);

/** Fetches and uploads the images of an import. Fetches each URL once, even if several publications use it. */
export class Images {
  private readonly by_url = new Map<string, Promise<FetchResult>>();
  private readonly fetches = new Semaphore(CONCURRENT_FETCHES);

  constructor(
    private readonly store: StoreIdentity,
    private readonly writer: CatalogWriter,
    /** If undefined, no image is fetched or attached. */
    private readonly fetch: FetchImage | undefined,
    /** Whether the images are only previewed: nothing is fetched, and `writer` writes nothing. */
    private readonly dry_run: boolean,
    private readonly tally: Tally,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Uploads the images of a publication and attaches them to it. Reports an image that fails, and continues. */
  async attach(publication_id: PublicationId, item: PublicationItem): Promise<void> {
    const { line, external_id, images } = item;
    if (images === undefined || (images.length === 0 && !this.fetch)) return;
    const is_listed_only = this.fetch === undefined || this.dry_run;
    let attached = is_listed_only ? await this.writer.attachedMedia(publication_id) : [];
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
        if (result.outcome === 'kept') this.tally.addEffects(item, { overwritten: [], kept: ['alt'] });
        // A fetch that was aborted is not reported as a failure. The next run repeats it.
        if (result.outcome === 'failed' && this.signal?.aborted) return null;
        if (result.outcome === 'failed') this.tally.fail('media', noteOf(image, result.reason));
        else this.tally.count('media', result.outcome === 'kept' ? 'unchanged' : result.outcome);
        return result.outcome === 'failed' ? null : result.media_id;
      }),
    );
    const uploaded = media_ids.filter((id) => id !== null);
    // If the file has images and none could be fetched, the publication keeps its images. If the file has an empty list, the
    // import removes the images that it had added.
    if (this.fetch && (uploaded.length > 0 || images.length === 0)) {
      const pictures = (item.variant_images ?? []).flatMap(({ url, option_values }) => {
        const media_id = media_ids[images.findIndex((image) => image.url === url)];
        return media_id ? [{ option_values, media_id }] : [];
      });
      const unique = [...new Set(uploaded)];
      const is_complete = uploaded.length === images.length && item.unread_variants !== 'unknown';
      const attach = { media_ids: unique, pictures, is_complete };
      const { publication, ...effects } = await this.writer.attachMedia(publication_id, attach);
      if (publication) this.tally.addArranged(item, publication);
      this.tally.addEffects(item, effects);
      if (!this.dry_run) attached = await this.writer.attachedMedia(publication_id);
    }
    const reported = images.map(({ url, alt = null }, index) => ({
      ...{ url, alt },
      media_id: attached.find((id) => id === media_ids[index]) ?? null,
    }));
    this.tally.addImages(line, { publication_id, external_id, images: reported });
  }

  private async fetchOnce(image: ImageAddress, fetch: FetchImage): Promise<FetchResult> {
    const earlier = this.by_url.get(image.url);
    if (earlier) {
      const result = await earlier;
      return result.outcome === 'failed' ? result : { ...result, outcome: 'unchanged' };
    }
    const fetching = this.fetches.run(() => this.upload(image, fetch));
    this.by_url.set(image.url, fetching);
    return fetching;
  }

  /** Uploads an image. If it exists already, sets its alternative text. */
  private async upload(image: ImageAddress, fetch: FetchImage): Promise<FetchResult> {
    const { alt } = image;
    const { id: media_id, is_present } = await this.find(image);
    if (is_present && alt === undefined) return { outcome: 'unchanged', media_id };
    try {
      if (is_present) return { outcome: await this.writer.describeMedia(media_id, alt!), media_id };
      if (this.dry_run) await this.writer.pretendMedia(media_id, alt ?? null);
      else await fetch(addressOf(image), (bytes) => this.writer.uploadMedia(media_id, bytes, alt ?? null));
      return { outcome: 'created', media_id };
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      return { outcome: 'failed', reason };
    }
  }

  private async find(image: ImageAddress) {
    const known_id = image.media_id as MediaId | undefined;
    if (known_id && (await this.writer.media(known_id)) === 'present')
      return { id: known_id, is_present: true };
    const url = addressOf(image);
    return findUsable((generation) => mediaIdOf(this.store, url, generation), this.writer.media);
  }
}
