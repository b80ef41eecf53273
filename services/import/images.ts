import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import { Semaphore } from '../../shared/kernel/async';
import type { MediaId, PublicationId } from '../../shared/kernel/ids';
import { FetchError } from './fetch-image';
import { mediaIdOf, type StoreIdentity } from './identity';
import type { ImageAddress, PublicationItem } from './item';
import { rejectionReason, type Tally } from './report';
import type { CatalogWriter } from './writer';

/** Gets the bytes of an address and gives them to `use`; throws `FetchError` where they cannot be had. */
export type FetchImage = <Result>(
  url: string,
  use: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
) => Promise<Result>;

const FETCHES_AT_ONCE = 4;
type Fetched =
  | { readonly outcome: 'created' | 'unchanged'; readonly media_id: MediaId }
  | { readonly outcome: 'failed'; readonly reason: string };

/** Brings the images of one run's publications in: every address once, whichever publications show it. */
export class Images {
  private readonly known = new Map<string, Promise<Fetched>>();
  private readonly fetches = new Semaphore(FETCHES_AT_ONCE);

  constructor(
    private readonly store: StoreIdentity,
    private readonly writer: CatalogWriter,
    /** Undefined: none is fetched. */
    private readonly fetch: FetchImage | undefined,
    private readonly tally: Tally,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Shows them on the publication. One that cannot be had is reported, and the others are shown. */
  async take(publication_id: PublicationId, item: PublicationItem): Promise<void> {
    const { line, external_id, images } = item;
    const note = (image: ImageAddress, reason: string) => ({
      line,
      external_id,
      reason: `image ${image.url}: ${reason}`,
    });
    const media_ids: (MediaId | null)[] = await Promise.all(
      images.map(async (image, index) => {
        if (this.fetch === undefined || this.signal?.aborted) return null;
        if (index >= PUBLICATION_MEDIA_MAX) {
          this.tally.warn(note(image, `left out: a publication has at most ${PUBLICATION_MEDIA_MAX}`));
          return null;
        }
        const fetched = await this.once(image, this.fetch);
        // What was stopped is neither here nor there: the next run gets it.
        if (fetched.outcome === 'failed' && this.signal?.aborted) return null;
        if (fetched.outcome === 'failed') this.tally.fail('media', note(image, fetched.reason));
        else this.tally.count('media', fetched.outcome);
        return fetched.outcome === 'failed' ? null : fetched.media_id;
      }),
    );
    const there = media_ids.filter((id) => id !== null);
    if (there.length > 0) await this.writer.showMedia(publication_id, [...new Set(there)]);
    const told = images.map((image, index) => ({ ...image, media_id: media_ids[index]! }));
    this.tally.keepImages(line, { publication_id, external_id, images: told });
  }

  private async once(image: ImageAddress, fetch: FetchImage): Promise<Fetched> {
    const earlier = this.known.get(image.url);
    if (earlier) {
      const fetched = await earlier;
      return fetched.outcome === 'created' ? { ...fetched, outcome: 'unchanged' } : fetched;
    }
    const fetching = this.fetches.run(() => this.upload(image, fetch));
    this.known.set(image.url, fetching);
    return fetching;
  }

  /** Under the first generation that was not deleted; what is there already is not fetched. */
  private async upload({ url, alt }: ImageAddress, fetch: FetchImage): Promise<Fetched> {
    for (let generation = 1; ; generation++) {
      const media_id = mediaIdOf(this.store, url, generation);
      const presence = await this.writer.media(media_id);
      if (presence === 'deleted') continue;
      if (presence === 'present') return { outcome: 'unchanged', media_id };
      try {
        await fetch(url, (bytes) => this.writer.uploadMedia(media_id, bytes, alt));
        return { outcome: 'created', media_id };
      } catch (error) {
        const reason = error instanceof FetchError ? error.message : rejectionReason(error);
        if (reason === undefined) throw error;
        return { outcome: 'failed', reason };
      }
    }
  }
}
