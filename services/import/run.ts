import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import { newPublicationSchema } from '../command/publication';
import { newReviewSchema } from '../command/review';
import { publicationIdOf, type StoreIdentity, wordsOf } from './identity';
import { type FetchImage, Images } from './images';
import type {
  ImportFile,
  ImportItem,
  ListingItem,
  PublicationItem,
  ReviewItem,
  ReviewRow,
  RowNote,
} from './item';
import { type FindListing, Listings } from './listings';
import { runPool } from './pool';
import { type ImportReport, type Kind, rejectionReason, Tally } from './report';
import type { CatalogWriter, Outcome } from './writer';

/** Enough writes at once that one commit of the log serves many of them. */
const CONCURRENCY = 32;

export interface ImportRun {
  readonly store: StoreIdentity;
  readonly writer: CatalogWriter;
  readonly findListing: FindListing;
  readonly dry_run: boolean;
  /** How images are had; left out: they are only told of. Never called in a dry run. */
  readonly fetch?: FetchImage;
  /** Kinds that this file may hold; a row of another is refused. */
  readonly kinds?: readonly ImportItem['kind'][];
  /** Called after each step of the file. */
  readonly on_progress?: (done: number) => void;
  /** Aborted: no further row is started, and the report says `complete: false`. */
  readonly signal?: AbortSignal;
}

/** What one run holds in common for its rows. */
interface RunState extends ImportRun {
  readonly tally: Tally;
  readonly listings: Listings;
  readonly reviews: Reviews;
  readonly images: Images;
  /** Every publication of the file by its external id; undefined where it was not taken. */
  readonly publications: Map<string, { line: number; id: Promise<PublicationId | undefined> }>;
}

/**
 * The one loop that writes, whatever the format. A row that the write side refuses is reported and the others are
 * taken; anything else that fails (the log cannot be reached) ends the run with that error, and the same import again
 * completes it.
 */
export async function runImport(file: ImportFile, run: ImportRun): Promise<ImportReport> {
  const tally = new Tally();
  const listings = new Listings(run.store, run.writer, run.findListing, tally);
  const reviews = new Reviews(run.writer, tally);
  const fetch = run.dry_run ? undefined : run.fetch;
  const images = new Images(run.store, run.writer, fetch, tally, run.signal);
  const state: RunState = { ...run, tally, listings, reviews, images, publications: new Map() };
  let done = 0;
  await runPool(
    file.items(),
    CONCURRENCY,
    async (items) => {
      for (const item of items) await takeItem(state, item);
      run.on_progress?.(++done);
    },
    run.signal,
  );
  return tally.report({ dry_run: run.dry_run, complete: run.signal?.aborted !== true });
}

async function takeItem(state: RunState, item: ImportItem): Promise<void> {
  if (item.kind === 'warning') return state.tally.warn(item);
  if (item.kind === 'failed') return state.tally.fail(item.about && kindOf[item.about], item);
  if (state.kinds && !state.kinds.includes(item.kind))
    return state.tally.fail(null, noteOf(item, `a ${item.kind} is not imported by this command`));
  switch (item.kind) {
    case 'publication':
      return takePublication(state, item);
    case 'listing':
      return takeListing(state, item);
    case 'review':
      return takeReview(state, item);
  }
}

const kindOf = { listing: 'listings', publication: 'publications', review: 'reviews' } as const;

async function takePublication(state: RunState, item: PublicationItem): Promise<void> {
  const earlier = state.publications.get(item.external_id);
  if (earlier) {
    state.tally.fail('publications', noteOf(item, `the same as in line ${earlier.line}`));
    return;
  }
  const writing = attempt(state, 'publications', item, () => writePublication(state, item));
  state.publications.set(item.external_id, { line: item.line, id: writing });
  const id = await writing;
  if (id !== undefined) await state.images.take(id, item);
  for (const [index, review] of item.reviews.entries()) {
    const note = (error: unknown): RowNote => noteOf(item, `reviews[${index}]: ${reasonOf(error)}`);
    if (id === undefined) state.tally.fail('reviews', note('its publication was not taken'));
    else await attempt(state, 'reviews', item, () => state.reviews.post(id, review), note);
  }
}

/** Checked before its listing is made: what is refused leaves no empty listing behind. */
async function writePublication(state: RunState, item: PublicationItem): Promise<PublicationId> {
  parseBody(newPublicationSchema, item.fields);
  const listing =
    typeof item.listing === 'string'
      ? { listing_id: await state.listings.named(item.listing) }
      : item.listing === null
        ? { listing_id: null }
        : {};
  const input = parseBody(newPublicationSchema, { ...item.fields, ...listing });
  for (let generation = 1; ; generation++) {
    const id = publicationIdOf(state.store, item.external_id, generation);
    const outcome: Outcome = await state.writer.putPublication(id, input);
    if (outcome === 'deleted') continue;
    state.tally.count('publications', outcome);
    return id;
  }
}

async function takeListing(state: RunState, item: ListingItem): Promise<void> {
  await attempt(state, 'listings', item, async () => {
    const { name } = item.fields;
    if (typeof name !== 'string')
      throw CatalogError.ofFaults([
        { condition: 'field_required', field: 'listing.name', constraint: 'required' },
      ]);
    await state.listings.describe({ ...item.fields, name });
  });
}

async function takeReview(state: RunState, item: ReviewItem): Promise<void> {
  await attempt(state, 'reviews', item, async () => {
    const id = await publicationOf(state, item);
    if (id === undefined) throw new CatalogError('publication_not_found');
    await state.reviews.post(id, item.review);
  });
}

/** By its id, or by what it was imported as: in this file, above the review, or ever before. */
async function publicationOf(state: RunState, item: ReviewItem): Promise<PublicationId | undefined> {
  const { writer, store } = state;
  if ('id' in item.publication) {
    const id = item.publication.id as PublicationId;
    return (await writer.publication(id)) === 'present' ? id : undefined;
  }
  const { external_id } = item.publication;
  const ofThisFile = state.publications.get(external_id);
  if (ofThisFile) return ofThisFile.id;
  for (let generation = 1; ; generation++) {
    const id = publicationIdOf(store, external_id, generation);
    const presence = await writer.publication(id);
    if (presence !== 'deleted') return presence === 'present' ? id : undefined;
  }
}

/** What is refused is reported; any other failure is thrown and ends the run. */
async function attempt<Result>(
  state: RunState,
  kind: Kind,
  item: PublicationItem | ListingItem | ReviewItem,
  write: () => Promise<Result>,
  note: (error: unknown) => RowNote = (error) => noteOf(item, reasonOf(error)),
): Promise<Result | undefined> {
  try {
    return await write();
  } catch (error) {
    if (rejectionReason(error) === undefined) throw error;
    state.tally.fail(kind, note(error));
    return undefined;
  }
}

const reasonOf = (error: unknown): string =>
  typeof error === 'string' ? error : (rejectionReason(error) ?? '');

function noteOf(item: PublicationItem | ListingItem | ReviewItem, reason: string): RowNote {
  return { line: item.line, external_id: nameOf(item), reason };
}

function nameOf(item: PublicationItem | ListingItem | ReviewItem): string | null {
  switch (item.kind) {
    case 'publication':
      return item.external_id;
    case 'listing':
      return typeof item.fields.name === 'string' ? item.fields.name : null;
    case 'review':
      return 'id' in item.publication ? item.publication.id : item.publication.external_id;
  }
}

/**
 * The reviews of an import. One without an id of its own is known by its words; those of one publication that say
 * exactly the same are told apart by their number.
 */
class Reviews {
  private readonly repetitions = new Map<string, number>();

  constructor(
    private readonly writer: CatalogWriter,
    private readonly tally: Tally,
  ) {}

  /** Throws `CatalogError` where the review is refused. */
  async post(publication_id: PublicationId, row: ReviewRow): Promise<void> {
    const input = parseBody(newReviewSchema, { ...row.fields, publication_id });
    const external_id = row.external_id ?? this.repetitionOf(publication_id, row);
    this.tally.count('reviews', await this.writer.postReview(input, external_id));
  }

  /** An id for the second and every further review of the same words; undefined for the first. */
  private repetitionOf(publication_id: PublicationId, row: ReviewRow): string | undefined {
    const words = wordsOf(row.fields);
    const counted = `${publication_id} ${words}`;
    const repetition = (this.repetitions.get(counted) ?? 0) + 1;
    this.repetitions.set(counted, repetition);
    return repetition === 1 ? undefined : `words ${words} ${repetition}`;
  }
}
