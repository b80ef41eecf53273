import { hash } from 'node:crypto';
import type { Publication } from '../../shared/catalog/publication/publication';
import { parseBody } from '../../shared/http/validation';
import { endLongTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import { shortenText } from '../../shared/kernel/text';
import { runPool } from '../command/pool';
import { newReviewSchema } from '../command/review';
import { removedFrom } from '../command/sanitise';
import { contentHash, findUsable, publicationIdOf, type StoreIdentity } from './identity';
import { type FetchImage, Images } from './images';
import {
  type ImportFile,
  type ImportItem,
  type ListingItem,
  type OtherListing,
  type PublicationItem,
  type ReviewItem,
  type ReviewRow,
  RowError,
  type RowNote,
} from './item';
import { type FindChildren, type FindListing, Listings } from './listings';
import type { FieldEffects } from './manual-changes';
import { type ImportReport, type Kind, rejectionReason, Tally } from './report';
import { writeTranslations } from './translations';
import { type CatalogWriter, importedPublication } from './writer';

/** Steps that are written concurrently, so that many of them share one commit of the log. */
const CONCURRENCY = 256;

export interface ImportRun {
  readonly store: StoreIdentity;
  readonly writer: CatalogWriter;
  readonly findListing: FindListing;
  /** Without it, the levels of the tree are checked only below listings that this import places. */
  readonly findChildren?: FindChildren;
  readonly dry_run: boolean;
  /** Whether the report lists the publications that the import has created and changed. A dry run always does. */
  readonly lists_changes?: boolean | undefined;
  /** Fetches images. If it is missing, images are only listed in the report. A dry run does not call it. */
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
  readonly exchange: SkuExchange;
}

/**
 * Writes the items of a file in any format into a store. Reports a row that a command rejects, and continues.
 * Throws other errors, for example if the log cannot be reached. Repeating the import then completes it.
 */
export async function runImport(file: ImportFile, run: ImportRun): Promise<ImportReport> {
  const tally = new Tally(run.dry_run, run.lists_changes);
  const listings = new Listings(run.store, run.writer, run.findListing, tally, run.findChildren);
  const reviews = new Reviews(run.writer, tally);
  const images = new Images(run.store, run.writer, run.fetch, run.dry_run, tally, run.signal);
  const publications = new FilePublications();
  const state: RunState = {
    ...run,
    tally,
    listings,
    reviews,
    images,
    publications,
    exchange: new SkuExchange(),
  };
  let done = 0;
  await runPool(
    file.items(),
    CONCURRENCY,
    async (items) => {
      for (const item of items) await importItem(state, item);
      run.on_progress?.(++done);
    },
    run.signal,
  );
  await state.exchange.run(state);
  const { unused_columns = {} } = file;
  return tally.report({ complete: run.signal?.aborted !== true, unused_columns });
}

async function importItem(state: RunState, item: ImportItem): Promise<void> {
  const { tally, kinds } = state;
  if (item.kind === 'warning') return tally.warn(item);
  if (item.kind === 'failed') return tally.fail(item.about && KIND_OF[item.about], item);
  if (item.kind === 'translations') return writeTranslations(state.writer, tally, item.rows);
  if (kinds && !kinds.includes(item.kind))
    return tally.fail(null, noteOf(item, `this command does not import a ${item.kind}`));
  switch (item.kind) {
    case 'publication':
      return importPublication(state, item);
    case 'listing':
      await reportRejection(state, item, () => importListing(state, item));
      return;
    case 'review':
      await reportRejection(state, item, () => importReview(state, item));
  }
}

const KIND_OF = { listing: 'listings', publication: 'publications', review: 'reviews' } as const;

async function importPublication(state: RunState, item: PublicationItem): Promise<void> {
  const { tally, publications } = state;
  const earlier_line = publications.lines.get(item.external_id);
  if (earlier_line !== undefined)
    return tally.fail('publications', noteOf(item, `duplicate of line ${earlier_line}`));
  const writing = reportRejection(state, item, () => writePublication(state, item));
  publications.track(item, writing);
  const id = await writing;
  if (id !== undefined) await state.images.attach(id, item);
  for (const [index, review] of item.reviews.entries()) {
    const path = `reviews[${index}]: `;
    if (id === undefined) tally.fail('reviews', noteOf(item, `${path}the publication was not imported`));
    else await reportRejection(state, item, () => state.reviews.post(id, review), 'reviews', path);
  }
}

/** How much of what was removed from a description a warning names. */
const REMOVED_MAX = 10;

/** Validates the fields before it creates the listing, so that a rejected row leaves no empty listing. */
async function writePublication(state: RunState, item: PublicationItem): Promise<PublicationId> {
  const fields = parseBody(importedPublication, item.fields);
  const { description_html: html } = item.fields;
  const removed = typeof html === 'string' ? removedFrom(html) : [];
  await endLongTurn();
  if (removed.length > 0) {
    const others = removed.length > REMOVED_MAX ? [`and ${removed.length - REMOVED_MAX} others`] : [];
    const listed = [...removed.slice(0, REMOVED_MAX), ...others].join(', ');
    state.tally.warn(noteOf(item, `description_html is imported without ${listed}`));
  }
  const listing =
    item.listing === undefined
      ? {}
      : { listing_id: item.listing && (await state.listings.findOrCreate(item.listing)) };
  const places = item.other_listings && (await placesOf(state, item.other_listings));
  const known_id =
    (await state.writer.publicationNamed(item.external_id)) ?? (await publicationOfHandle(state, item));
  // A publication that an export has named by its id stays without an external id.
  const { external_id, ...others } = { ...fields, ...listing, ...places };
  const input = { ...others, ...(external_id !== undefined && external_id !== known_id && { external_id }) };
  for (let generation = known_id ? 0 : 1; ; generation++) {
    const id = generation === 0 ? known_id! : publicationIdOf(state.store, item.external_id, generation);
    const put = await putWithFreeNames(state, item, { id, input });
    if (put === 'deleted') continue;
    if (put.taken.size === 0 || !state.exchange.add(item, put)) reportPut(state, item, put);
    return id;
  }
}

/** Adds a publication that was written to the report. */
function reportPut({ tally }: RunState, item: PublicationItem, put: Put): void {
  const { input, outcome, publication, ignored, taken, effects } = put;
  const warn = (reason: string): void => tally.warn(noteOf(item, reason));
  tally.addPublication(item, outcome, publication, effects.overwritten);
  tally.addEffects(item, effects);
  if (outcome === 'created' && input.price_amount === undefined)
    warn('the file has no price: the product was created without one');
  if (ignored.length > 0)
    warn(`${ignored.join(', ')} stayed: the product has variants, and the row does not name one`);
  for (const [sku, { title }] of taken)
    warn(`SKU ${sku} was left out: the product "${shortenText(title, 40)}" has it`);
}

/** Returns the fields with other listings. Creates those that do not exist. */
async function placesOf({ listings }: RunState, others: readonly OtherListing[]) {
  const places: [id: string, position: number | null | undefined][] = [];
  for (const { listing, featured_position } of others)
    places.push([await listings.findOrCreate(listing), featured_position]);
  return {
    listing_ids: [...new Set(places.map(([id]) => id))],
    featured_positions: Object.fromEntries(places.flatMap(([id, at]) => (at ? [[id, at]] : []))),
  };
}

/**
 * Returns the publication whose handle names a product of Shopify, as it does in Shopify. Undefined if there is none, or if
 * an earlier import has made another publication of the product.
 */
async function publicationOfHandle(
  { writer, store }: RunState,
  { external_id, fields }: PublicationItem,
): Promise<PublicationId | undefined> {
  const { handle, external_id: own_name } = fields;
  const is_of_shopify = typeof handle === 'string' && own_name === undefined;
  const owner_id = is_of_shopify ? await writer.publicationOfHandle(handle) : undefined;
  const imported_id = publicationIdOf(store, external_id, 1);
  const is_imported =
    owner_id && owner_id !== imported_id && (await writer.publication(imported_id)) !== 'absent';
  return is_imported ? undefined : owner_id;
}

type PutInput = Parameters<CatalogWriter['putPublication']>[1];

/** What is put: a publication of the file. */
interface Wanted {
  readonly id: PublicationId;
  readonly input: PutInput;
}

/** A publication that was put. */
interface Put extends Wanted {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  readonly publication: Publication;
  readonly ignored: readonly string[];
  readonly effects: FieldEffects;
  /** The SKUs of `input` that were left out, each with the publication that has it. */
  readonly taken: ReadonlyMap<string, Pick<Publication, 'id' | 'title'>>;
}

/** How often a put is repeated if another publication has given up its SKU at the same time. */
const FREED_NAMES_MAX = 5;

/**
 * Puts a publication, without a handle and without SKUs that other publications have. Warns about the handle. Returns
 * `deleted` if the publication was deleted. A variant whose SKU is left out keeps its own, unless another variant of the
 * publication gets that one.
 */
async function putWithFreeNames(
  { writer, tally }: RunState,
  item: PublicationItem,
  wanted: Wanted,
  taken: Put['taken'] = new Map(),
): Promise<Put | 'deleted'> {
  const { id } = wanted;
  let { input } = wanted;
  let { handle_of_new } = item;
  let left_out: null | undefined;
  for (let freed = 0; ; ) {
    try {
      const sent = taken.size > 0 ? withSkus(input, taken, left_out) : input;
      const { written, ignored, ...effects } = await writer.putPublication(
        id,
        sent,
        item.unread_variants,
        handle_of_new,
      );
      if (input !== wanted.input || handle_of_new !== item.handle_of_new)
        tally.warn(
          noteOf(
            item,
            `handle ${wanted.input.handle ?? item.handle_of_new} was left out: another publication has it`,
          ),
        );
      if (written.outcome === 'deleted') return 'deleted';
      return { id, input, outcome: written.outcome, publication: written.value, ignored, effects, taken };
    } catch (error) {
      if (taken.size > 0 && left_out === undefined && isOfSku(error)) {
        left_out = null;
        continue;
      }
      if (!(error instanceof CatalogError && error.condition === 'name_taken')) throw error;
      if (error.faults[0]?.field === 'handle') {
        const { handle, ...others } = input;
        if (handle === undefined) handle_of_new = undefined;
        else input = others;
        continue;
      }
      const owned = await skusOfOthers(writer, id, input);
      // Without a new one, the name is another one, or the SKU was taken and given up at the same time.
      if ([...owned.keys()].every((sku) => taken.has(sku)) && ++freed > FREED_NAMES_MAX) throw error;
      taken = new Map([...taken, ...owned]);
    }
  }
}

/** Returns whether a put was refused because two of its variants would have a SKU. */
const isOfSku = (error: unknown): boolean =>
  error instanceof CatalogError &&
  error.faults.some(({ condition, field }) => condition === 'field_invalid' && field.endsWith('.sku'));

/** Returns the SKUs of the input that other publications have, each with its publication. */
async function skusOfOthers(writer: CatalogWriter, id: PublicationId, { variants = [] }: PutInput) {
  const owned = new Map<string, Pick<Publication, 'id' | 'title'>>();
  for (const { sku } of variants) {
    const owner = sku ? await writer.publicationOfVariant('sku', sku) : undefined;
    if (owner && owner.id !== id) owned.set(sku!, { id: owner.id, title: owner.title });
    await endLongTurn();
  }
  return owned;
}

/** Returns the input with another value for some SKUs. Undefined keeps the SKU that the variant has. */
function withSkus(input: PutInput, skus: Put['taken'], value: null | undefined): PutInput {
  const variants = input.variants?.map((variant) =>
    variant.sku && skus.has(variant.sku) ? ({ ...variant, sku: value } as typeof variant) : variant,
  );
  return { ...input, ...(variants && { variants }) };
}

/** A variant takes about 500 bytes. */
const DEFERRED_VARIANTS_MAX = 50_000;

/** A publication that was put without SKUs that other publications have. */
interface DeferredPut {
  readonly item: PublicationItem;
  readonly put: Put;
}

/**
 * Exchanges the SKUs of the publications of a file. A publication that was put without some of its SKUs is put again after
 * all rows, because another row may have changed the publication that had the SKU.
 */
class SkuExchange {
  private readonly waiting = new Map<PublicationId, DeferredPut>();
  /** The publications whose SKUs are being made free. */
  private readonly open = new Map<PublicationId, DeferredPut>();
  /** The publications in `open` that have given up SKUs and have no others yet. */
  private readonly released = new Set<PublicationId>();
  private variants = 0;

  /** Returns false if there are too many, because they stay in memory until all rows are written. */
  add(item: PublicationItem, put: Put): boolean {
    this.variants += put.publication.variants.length;
    if (this.variants > DEFERRED_VARIANTS_MAX || this.waiting.has(put.id)) return false;
    this.waiting.set(put.id, { item, put });
    return true;
  }

  /** Puts the publications again, and adds them to the report. After an abort, it only adds them. */
  async run(state: RunState): Promise<void> {
    for (const deferred of this.waiting.values()) await this.exchange(state, deferred);
  }

  /**
   * Puts a publication again, after the publications that have its SKUs. If such a publication itself waits for this one,
   * it gives up its SKUs first.
   */
  private async exchange(state: RunState, deferred: DeferredPut): Promise<void> {
    const { id, taken } = deferred.put;
    this.waiting.delete(id);
    this.open.set(id, deferred);
    // A call after an `await` takes no place on the stack, however many publications wait for each other.
    await endLongTurn();
    for (const { id: owner_id } of taken.values()) {
      if (this.isStopped(state)) break;
      const [waiting, open] = [this.waiting.get(owner_id), this.open.get(owner_id)];
      if (waiting) await this.exchange(state, waiting);
      else if (open && !this.released.has(owner_id)) await this.release(state, open);
    }
    if (this.isStopped(state)) reportPut(state, deferred.item, deferred.put);
    else await this.putAgain(state, deferred);
    this.open.delete(id);
    this.released.delete(id);
  }

  /** An abort waits for publications that have given up SKUs, so that these get the new ones. */
  private isStopped({ signal }: RunState): boolean {
    return signal?.aborted === true && this.released.size === 0;
  }

  private async release({ writer }: RunState, { item, put }: DeferredPut): Promise<void> {
    this.released.add(put.id);
    try {
      const input = withSkus(put.input, put.taken, null);
      await writer.putPublication(put.id, input, item.unread_variants);
    } catch (error) {
      // The put that follows is rejected, too, and reports it.
      if (rejectionReason(error) === undefined) throw error;
    }
  }

  /** The first put is in the report also if the second one is rejected. */
  private async putAgain(state: RunState, { item, put }: DeferredPut): Promise<void> {
    const written = await reportRejection(state, item, () => putWithFreeNames(state, item, put), null);
    const again = written === undefined || written === 'deleted' ? put : written;
    const is_changed =
      put.outcome !== 'unchanged' || again.taken.size < put.taken.size || this.released.has(put.id);
    const changed = put.outcome === 'created' ? 'created' : 'updated';
    const overwritten = [...new Set([...put.effects.overwritten, ...again.effects.overwritten])];
    const outcome = is_changed ? changed : 'unchanged';
    reportPut(state, item, { ...again, outcome, effects: { ...again.effects, overwritten } });
  }
}

async function importListing(state: RunState, item: ListingItem): Promise<void> {
  const { name } = item.fields;
  if (typeof name !== 'string') throw new RowError('listing.name: is required');
  await state.listings.write(item, name);
}

async function importReview(state: RunState, item: ReviewItem): Promise<void> {
  const id = await findReviewedPublication(state, item);
  if (id === undefined) throw new CatalogError('publication_not_found');
  await state.reviews.post(id, item.review);
}

/** Finds the publication of a review: by id, among the earlier lines of this file, or among earlier imports. */
async function findReviewedPublication(
  { writer, store, publications }: RunState,
  { publication }: ReviewItem,
): Promise<PublicationId | undefined> {
  if ('id' in publication) {
    const id = publication.id as PublicationId;
    return (await writer.publication(id)) === 'present' ? id : undefined;
  }
  const { external_id } = publication;
  const in_this_file = publications.writing.get(external_id);
  if (in_this_file) return in_this_file;
  if (publications.failed.has(external_id)) return undefined;
  const known_id = await writer.publicationNamed(external_id);
  if (known_id) return known_id;
  const idOf = (generation: number): PublicationId => publicationIdOf(store, external_id, generation);
  const { id, is_present } = await findUsable(idOf, writer.publication);
  return is_present ? id : undefined;
}

/** The publications of the file by external id. A publication that is written takes only the entry in `lines`. */
class FilePublications {
  readonly lines = new Map<string, number>();
  readonly failed = new Set<string>();
  /** The publications that are being written. The id resolves to undefined if the row fails. */
  readonly writing = new Map<string, Promise<PublicationId | undefined>>();

  /** Adds a row that is being written. */
  track({ external_id, line }: PublicationItem, writing: Promise<PublicationId | undefined>): void {
    this.lines.set(external_id, line);
    this.writing.set(external_id, writing);
    const end = (id?: PublicationId): void => {
      if (id === undefined) this.failed.add(external_id);
      this.writing.delete(external_id);
    };
    writing.then(end, () => end());
  }
}

/**
 * Runs `write`. Reports a rejection and returns undefined. Rethrows any other error, which ends the import. `kind` is null if
 * the rejection concerns only a part of the item.
 */
async function reportRejection<Result>(
  state: RunState,
  item: PublicationItem | ListingItem | ReviewItem,
  write: () => Promise<Result>,
  kind: Kind | null = KIND_OF[item.kind],
  path = '',
): Promise<Result | undefined> {
  try {
    return await write();
  } catch (error) {
    const reason = rejectionReason(error);
    if (reason === undefined) throw error;
    state.tally.fail(kind, noteOf(item, path + reason));
    return undefined;
  }
}

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
 * The reviews of an import. A review without an external id is identified by its content. If a publication has several
 * reviews with the same content, the second and later ones also get their number.
 */
class Reviews {
  /** How many reviews with a publication and content the file has, by the hash of both. */
  private readonly repetitions = new Map<string, number>();

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
    const key = hash('sha256', publication_id + content, 'base64url');
    const repetition = (this.repetitions.get(key) ?? 0) + 1;
    this.repetitions.set(key, repetition);
    // The review's id is derived from this text. Another text would duplicate reviews that are already imported.
    return repetition === 1 ? undefined : `words ${content} ${repetition}`;
  }
}
