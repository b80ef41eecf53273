import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import { newReviewSchema } from '../command/review';
import { contentHash, publicationIdOf, type StoreIdentity } from './identity';
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
import { TextNumbers } from './text-numbers';
import { type CatalogWriter, importedPublication } from './writer';

/** Steps that are written concurrently, so that many of them share one commit of the log. */
const CONCURRENCY = 256;
/** The most characters of the texts in them. One step may have more. */
const LENGTH_MAX = 8_000_000;

export interface ImportRun {
  readonly store: StoreIdentity;
  readonly writer: CatalogWriter;
  readonly findListing: FindListing;
  readonly dry_run: boolean;
  /** Fetches images. If it is missing, images are only listed in the report. Not called in a dry run. */
  readonly fetch?: FetchImage;
  /** The kinds of items that the file may contain; default all. Other rows fail. */
  readonly kinds?: readonly ImportItem['kind'][];
  /** Called after each step of the file. */
  readonly on_progress?: (done: number) => void;
  /** When it aborts, no further row is started, and the report has `complete: false`. */
  readonly signal?: AbortSignal;
}

/** The state that all rows of an import share. */
interface RunState extends ImportRun {
  readonly tally: Tally;
  readonly listings: Listings;
  readonly reviews: Reviews;
  readonly images: Images;
  readonly publications: FilePublications;
}

/**
 * Writes the items of a file in any format into a store. Reports a row that a command rejects, and continues.
 * Throws other errors, for example if the log cannot be reached. Repeating the import then completes it.
 */
export async function runImport(file: ImportFile, run: ImportRun): Promise<ImportReport> {
  const tally = new Tally();
  const listings = new Listings(run.store, run.writer, run.findListing, tally);
  const reviews = new Reviews(run.writer, tally);
  const fetch = run.dry_run ? undefined : run.fetch;
  const images = new Images(run.store, run.writer, fetch, tally, run.signal);
  const state: RunState = { ...run, tally, listings, reviews, images, publications: new FilePublications() };
  let done = 0;
  await runPool(
    file.items(),
    { items_max: CONCURRENCY, length_max: LENGTH_MAX, lengthOf: lengthOfStep },
    async (items) => {
      for (const item of items) await importItem(state, item);
      run.on_progress?.(++done);
    },
    run.signal,
  );
  const { unused_columns = {} } = file;
  return tally.report({ dry_run: run.dry_run, complete: run.signal?.aborted !== true, unused_columns });
}

async function importItem(state: RunState, item: ImportItem): Promise<void> {
  if (item.kind === 'warning') return state.tally.warn(item);
  if (item.kind === 'failed') return state.tally.fail(item.about && KIND_OF[item.about], item);
  if (state.kinds && !state.kinds.includes(item.kind))
    return state.tally.fail(null, noteOf(item, `this command does not import a ${item.kind}`));
  switch (item.kind) {
    case 'publication':
      return importPublication(state, item);
    case 'listing':
      return importListing(state, item);
    case 'review':
      return importReview(state, item);
  }
}

const KIND_OF = { listing: 'listings', publication: 'publications', review: 'reviews' } as const;

async function importPublication(state: RunState, item: PublicationItem): Promise<void> {
  const earlier_line = state.publications.add(item);
  if (earlier_line !== undefined) {
    state.tally.fail('publications', noteOf(item, `duplicate of line ${earlier_line}`));
    return;
  }
  const writing = reportRejection(state, 'publications', item, () => writePublication(state, item));
  state.publications.track(item, writing);
  const id = await writing;
  if (id !== undefined) await state.images.attach(id, item);
  for (const [index, review] of item.reviews.entries()) {
    const note = (error: unknown): RowNote => noteOf(item, `reviews[${index}]: ${reasonOf(error)}`);
    if (id === undefined) state.tally.fail('reviews', note('the publication was not imported'));
    else await reportRejection(state, 'reviews', item, () => state.reviews.post(id, review), note);
  }
}

/** Validates the fields before it creates the listing, so that a rejected row leaves no empty listing. */
async function writePublication(state: RunState, item: PublicationItem): Promise<PublicationId> {
  const fields = parseBody(importedPublication, item.fields);
  const listing =
    typeof item.listing === 'string'
      ? { listing_id: await state.listings.findOrCreate(item.listing) }
      : item.listing === null
        ? { listing_id: null }
        : {};
  const input = { ...fields, ...listing };
  for (let generation = 1; ; generation++) {
    const id = publicationIdOf(state.store, item.external_id, generation);
    const { outcome, ...effects } = await state.writer.putPublication(id, input);
    if (outcome === 'deleted') continue;
    state.tally.count('publications', outcome);
    state.tally.addEffects(item, effects);
    return id;
  }
}

async function importListing(state: RunState, item: ListingItem): Promise<void> {
  await reportRejection(state, 'listings', item, async () => {
    const { name } = item.fields;
    if (typeof name !== 'string')
      throw CatalogError.ofFaults([
        { condition: 'field_required', field: 'listing.name', constraint: 'required' },
      ]);
    await state.listings.write(item, name);
  });
}

async function importReview(state: RunState, item: ReviewItem): Promise<void> {
  await reportRejection(state, 'reviews', item, async () => {
    const id = await findReviewedPublication(state, item);
    if (id === undefined) throw new CatalogError('publication_not_found');
    await state.reviews.post(id, item.review);
  });
}

/** Finds the publication of a review: by id, among the earlier lines of this file, or among earlier imports. */
async function findReviewedPublication(
  state: RunState,
  item: ReviewItem,
): Promise<PublicationId | undefined> {
  const { writer, store } = state;
  if ('id' in item.publication) {
    const id = item.publication.id as PublicationId;
    return (await writer.publication(id)) === 'present' ? id : undefined;
  }
  const { external_id } = item.publication;
  const in_this_file = state.publications.writing(external_id);
  if (in_this_file) return in_this_file;
  if (state.publications.hasFailed(external_id)) return undefined;
  for (let generation = 1; ; generation++) {
    const id = publicationIdOf(store, external_id, generation);
    const presence = await writer.publication(id);
    if (presence !== 'deleted') return presence === 'present' ? id : undefined;
  }
}

/**
 * The publications of the file by external id. Remembers the finished ones in a few bytes each, so that the memory of an
 * import hardly depends on the size of the file.
 */
class FilePublications {
  /** Those that are being written. */
  private readonly running = new Map<string, Promise<PublicationId | undefined>>();
  /** Twice the line, plus 1 if the publication failed. */
  private readonly lines = new TextNumbers();

  /** Adds a row. Returns the line of an earlier row with the same external id, if there is one. */
  add({ external_id, line }: PublicationItem): number | undefined {
    const number = this.lines.add(external_id, 2 * line);
    return number === 0 ? undefined : Math.floor(number / 2);
  }

  /** Notes that the row is being written. The id resolves to undefined if it fails. */
  track({ external_id, line }: PublicationItem, writing: Promise<PublicationId | undefined>): void {
    this.running.set(external_id, writing);
    const end = (id?: PublicationId): void => {
      if (id === undefined) this.lines.set(external_id, 2 * line + 1);
      this.running.delete(external_id);
    };
    writing.then(end, () => end());
  }

  writing(external_id: string): Promise<PublicationId | undefined> | undefined {
    return this.running.get(external_id);
  }

  hasFailed(external_id: string): boolean {
    return this.lines.get(external_id) % 2 === 1;
  }
}

/** Runs `write`. Reports a rejection and returns undefined. Rethrows any other error, which ends the import. */
async function reportRejection<Result>(
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

/** Returns the size of the texts of a step, in characters. Descriptions make up nearly all of it. */
function lengthOfStep(items: readonly ImportItem[]): number {
  let length = 0;
  for (const item of items) {
    if (item.kind !== 'publication') continue;
    for (const value of Object.values(item.fields)) if (typeof value === 'string') length += value.length;
  }
  return length;
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
 * The reviews of an import. A review without an external id is identified by its content. If a publication has several
 * reviews with the same content, the second and later ones also get their number.
 */
class Reviews {
  private readonly repetitions = new TextNumbers();

  constructor(
    private readonly writer: CatalogWriter,
    private readonly tally: Tally,
  ) {}

  /** Posts a review. Throws `CatalogError` if it is rejected. */
  async post(publication_id: PublicationId, row: ReviewRow): Promise<void> {
    const input = parseBody(newReviewSchema, { ...row.fields, publication_id });
    const external_id = row.external_id ?? this.repetitionId(publication_id, row);
    this.tally.count('reviews', await this.writer.postReview(input, external_id));
  }

  /** Returns an external id for the second and each further review with the same content, undefined for the first. */
  private repetitionId(publication_id: PublicationId, row: ReviewRow): string | undefined {
    const content = contentHash(row.fields);
    const key = `${publication_id} ${content}`;
    const repetition = this.repetitions.get(key) + 1;
    this.repetitions.set(key, repetition);
    // The review's id is derived from this text. Another text would duplicate reviews that are already imported.
    return repetition === 1 ? undefined : `words ${content} ${repetition}`;
  }
}
