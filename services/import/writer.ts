import type { z } from 'zod';
import type { State } from '../../shared/catalog/events/aggregate';
import { streamName } from '../../shared/catalog/events/envelope';
import { listingFields } from '../../shared/catalog/listing/fields';
import { type Listing, listingAggregate } from '../../shared/catalog/listing/listing';
import { ALT_MAX, mediaFields } from '../../shared/catalog/media/fields';
import { type Media, type MediaCommand, mediaAggregate } from '../../shared/catalog/media/media';
import { PUBLICATION_MEDIA_MAX, publicationFields } from '../../shared/catalog/publication/fields';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { VARIANT_NAMES, Variant } from '../../shared/catalog/publication/variants';
import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { Translated } from '../../shared/catalog/translations';
import { CatalogError } from '../../shared/kernel/errors';
import {
  type ListingId,
  type MediaId,
  type PublicationId,
  parseId,
  type StoreId,
} from '../../shared/kernel/ids';
import { isSameValue, keyOfTexts } from '../../shared/kernel/same-value';
import { type Loaded, load, streamIn } from '../../shared/ports/stream-state';
import {
  execute,
  type Prepared,
  type StoreDeps,
  type WriteContext,
  type Written,
  withResource,
} from '../command/execute';
import { type NewListing, putListing, updateListing } from '../command/listing';
import { uploadMedia } from '../command/media';
import { ownerOfName } from '../command/names';
import { inspectOriginal, storeOriginal } from '../command/originals';
import type { NewPublication, PublicationPatch } from '../command/publication';
import {
  findPublication,
  newPublicationSchema,
  putPublication,
  updatePublication,
} from '../command/publication';
import { checkLevels, checkTranslations, existingMedia } from '../command/references';
import { ActiveStores, type MediaDeps } from '../command/request';
import { type NewReview, postReview } from '../command/review';
import type { TranslatedType } from '../query/export-translations';
import type { Presence } from './identity';
import type { OptionValues, UnreadVariants } from './item';
import {
  type FieldEffects,
  FieldHistory,
  type ItemHistory,
  keepManualChanges,
  NO_EFFECTS,
} from './manual-changes';
import { forVariantsOf } from './stored-variants';

export interface ImportTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** The currency of new publications whose rows have none. Default: `DEFAULT_CURRENCY`. */
  readonly currency?: string;
  /** Whether to overwrite fields that were changed by hand since the last import. Default: they are kept. */
  readonly overwrite?: boolean;
}

/** The dependencies of writes and uploads. */
export type ImportDeps = StoreDeps & MediaDeps;

/** Without a currency or a price, a new publication gets the defaults, and an existing one keeps its own. */
export const importedPublication = newPublicationSchema.partial({ price_currency: true, price_amount: true });

/** The currency of new publications, if neither the import nor the store has one. */
const DEFAULT_CURRENCY = 'USD';

/** Returns the currency of new publications whose rows have none: the base currency of the store, if it has `currencies`. */
export const currencyOfNew = ({ currency, currencies }: Pick<Store, 'currency' | 'currencies'>): string =>
  currencies?.[0] ?? currency ?? DEFAULT_CURRENCY;
/** No price is shown. */
const NO_PRICE = { price_amount: 0, price_active: false };

/** A picture of which only the address is known. */
const NO_PICTURE = {
  hash: '0'.repeat(64),
  mime_type: 'image/jpeg',
  size_bytes: 1,
  width: 1,
  height: 1,
} as const;

/** What is read from the history of a resource, by its category. */
const DESCRIBED = {
  listing: { aggregate: listingAggregate, fields: listingFields },
  publication: { aggregate: publicationAggregate, fields: publicationFields },
  media: { aggregate: mediaAggregate, fields: mediaFields },
};

/** The writes of an import into one store. They throw `CatalogError` if a command rejects the input. */
export type CatalogWriter = ReturnType<typeof writerTo>;

/** Returns a writer that calls the command services, so that an import follows the same rules as a request. */
export function writerTo(runtime: ImportDeps, context: WriteContext, target: ImportTarget) {
  const deps = { ...runtime, stores: new ActiveStores(runtime) };
  const { environment, store_id, currency = DEFAULT_CURRENCY, overwrite = false } = target;
  const { originals } = deps.blobs[environment];
  const source = { events: deps.events[environment], realm: environment };
  const historyOf = (category: keyof typeof DESCRIBED, id: string): Promise<FieldHistory> =>
    FieldHistory.read(source.events, streamName(environment, category, id), {
      ...DESCRIBED[category],
      source: context.source,
    });
  const readHistory = overwrite ? undefined : historyOf;
  /** Returns the `revise` of a put, which keeps what was changed by hand, and the effects of its last call. */
  const keeper = (category: 'listing' | 'publication', id: string) => {
    let effects = NO_EFFECTS;
    const keep = async <Wanted extends object>(before: object, wanted: Wanted): Promise<Wanted> => {
      const kept = await keepManualChanges(before, wanted, readHistory && (() => readHistory(category, id)));
      effects = kept.effects;
      return kept.changes;
    };
    return { keep, effects: () => effects };
  };
  /** Returns the publication that has reserved the name last, undefined if it does not exist. */
  const holderOf = async (kind: 'publication' | 'variant', field: string, value: string) => {
    const owner_id = await ownerOfName(deps, environment, { store_id, kind, field, value });
    return owner_id === undefined ? undefined : findPublication(deps, environment, owner_id as PublicationId);
  };
  const ownerOf = async (field: 'external_id' | 'handle', value: string) => {
    const owner = await holderOf('publication', field, value);
    return owner?.[field] === value ? owner.id : undefined;
  };
  return {
    /**
     * Throws `field_invalid` for a parent with which the tree has too many levels. `parent_id` is the one after the put.
     * The outcome is `deleted` if nothing was written, because this resource is deleted. Its id can never be used
     * again.
     */
    putListing: async (id: ListingId, input: NewListing, countLevelsBelow: () => Promise<number>) => {
      const { keep, effects } = keeper('listing', id);
      const revise = async (before: Listing, wanted: NewListing): Promise<NewListing> => {
        const changes = await keep(before, wanted);
        const { parent_id } = changes;
        if (parent_id && parent_id !== before.parent_id)
          await checkLevels(deps, environment, id, parent_id, countLevelsBelow);
        return changes;
      };
      const written = await putListing(deps, context, { environment, store_id, id, revise }, input);
      const parent_id = written.outcome === 'deleted' ? null : written.value.parent_id;
      return { outcome: written.outcome, parent_id, ...effects() };
    },
    /** The outcome is `deleted` as in `putListing`. */
    putPublication: async (
      id: PublicationId,
      input: z.output<typeof importedPublication>,
      unread_variants: UnreadVariants = [],
      handle_of_new?: string,
    ) => {
      const { price_currency = currency, price_amount } = input;
      const price = price_amount === undefined ? NO_PRICE : { price_amount };
      const { keep, effects } = keeper('publication', id);
      let ignored: readonly string[] = [];
      const revise = (before: Publication, sent: NewPublication): Promise<NewPublication> => {
        const { price_currency = before.price_currency } = input;
        // The first price that a product gets is shown. An export writes 0 for a product without one.
        const gets_price = (price_amount ?? 0) > 0 && isSameValue({ ...before, ...NO_PRICE }, before);
        const { price_active = gets_price ? true : undefined } = input;
        const { handle } = input;
        const row = { ...sent, handle, price_amount, price_active, price_currency } as NewPublication;
        const changes = forVariantsOf(before, row, unread_variants);
        ignored = changes.ignored;
        return keep(before, changes.wanted);
      };
      const target = { environment, store_id, id, revise };
      const { handle = handle_of_new } = input;
      const created = { ...input, ...(handle !== undefined && { handle }), ...price, price_currency };
      const written = await putPublication(deps, context, target, created);
      return { written, ignored, ...effects() };
    },
    /** Changes an existing publication. `patchOf` may be called several times. */
    changePublication: (
      id: PublicationId,
      patchOf: (publication: Publication) => Promise<PublicationPatch>,
    ): Promise<Written<Publication>> => updatePublication(deps, context, { environment, id }, patchOf),
    postReview: async (input: NewReview, external_id: string | undefined) => {
      const written = await postReview(deps, context, { ...target, external_id }, input);
      return written.changed ? ('created' as const) : ('unchanged' as const);
    },
    /**
     * Uploads a picture under an id that is absent. Throws `CatalogError` if it is not a picture or is too large. Throws
     * what `bytes` throws.
     */
    uploadMedia: async (id: MediaId, bytes: AsyncIterable<Uint8Array>, alt: string | null) => {
      const { hash, size_bytes } = await storeOriginal(originals, bytes);
      const { mime_type, width, height } = await inspectOriginal(originals, hash);
      const image = { hash, size_bytes, mime_type, width, height, alt: lineOf(alt) };
      await uploadMedia(deps, context, { ...target, id }, image);
      // A failure is ignored: the worker finds media without a task and adds one.
      await deps.mediaTasks.add({ environment, store_id, media_id: id }).catch(() => undefined);
    },
    /** Adds the media of a picture that is not fetched. For a dry run: whoever opens the media would find no bytes. */
    pretendMedia: async (id: MediaId, alt: string | null): Promise<void> => {
      await uploadMedia(deps, context, { ...target, id }, { ...NO_PICTURE, alt: lineOf(alt) });
    },
    /** Sets the alternative text of a media. Returns `kept` if it has another one that was set by hand. */
    describeMedia: async (id: MediaId, text: string | null): Promise<'updated' | 'unchanged' | 'kept'> => {
      const alt = lineOf(text);
      let is_kept = false;
      const prepare = async (state: State<Media>): Promise<Prepared<MediaCommand>> => {
        const differs = state.tag === 'present' && state.resource.alt !== alt;
        is_kept = differs && ((await readHistory?.('media', id))?.isChangedByHand('alt') ?? false);
        return { command: { type: 'Update', changes: is_kept ? {} : { alt } } };
      };
      const ref = streamIn(deps, environment, mediaAggregate, id);
      const { changed } = await execute<Media, MediaCommand>({ ...ref, context, prepare });
      if (is_kept) return 'kept';
      return changed ? 'updated' : 'unchanged';
    },
    /**
     * Changes the translations of a resource. `patchOf` may be called several times. Throws what `patchOf` throws, and the
     * `not_found` of the resource if the store does not have it.
     */
    translate: async (type: TranslatedType, id: string, patchOf: (resource: object) => Translated) => {
      const guard = (resource: { readonly store_id: StoreId }): void => {
        if (resource.store_id !== store_id) throw new CatalogError(`${type}_not_found`);
      };
      const patch = async (before: object) => patchOf(before);
      if (type === 'publication')
        return updatePublication(deps, context, { environment, id: id as PublicationId, guard }, patch);
      if (type === 'listing')
        return updateListing(deps, context, { environment, id: id as ListingId, guard }, patch);
      const prepare = async (state: State<Media>): Promise<Prepared<MediaCommand>> => {
        if (state.tag !== 'present') throw new CatalogError('media_not_found');
        guard(state.resource);
        const changes = patchOf(state.resource);
        await checkTranslations(deps, environment, store_id, changes, state.resource);
        return { command: { type: 'Update', changes } };
      };
      const ref = streamIn(deps, environment, mediaAggregate, id as MediaId);
      return withResource(await execute<Media, MediaCommand>({ ...ref, context, prepare }));
    },
    /** Shows the images of the file on a publication (`arrangeMedia`). Returns the publication if that changed it. */
    attachMedia: async (
      id: PublicationId,
      { media_ids, pictures = [], is_complete = false }: Attachment,
    ): Promise<FieldEffects & { readonly publication?: Publication }> => {
      const before = await findPublication(deps, environment, id);
      const has_nothing = media_ids.length === 0 && before?.media_ids.length === 0;
      if (!before || has_nothing) return NO_EFFECTS;
      let effects = NO_EFFECTS;
      const patchOf = async (publication: Publication): Promise<PublicationPatch> => {
        effects = NO_EFFECTS;
        const current = await existingMedia(deps, environment, publication.media_ids);
        const shown = media_ids.slice(0, PUBLICATION_MEDIA_MAX);
        /** Adds the pictures of variants. Reads the history only if one of them changes. */
        const withVariants = async (changes: PublicationPatch): Promise<PublicationPatch> => {
          const all = withPictures(publication, changes, pictures);
          if (!all.variants || overwrite) return all;
          const { imported_variants } = await historyOf('publication', id);
          return withPictures(publication, changes, pictures, (variant) => {
            const { media_id = null } = imported_variants.get(variant.id) ?? {};
            return variant.media_id !== media_id;
          });
        };
        if (isSameValue(shown, publication.media_ids)) return withVariants({});
        const earlier = (await historyOf('publication', id)).itemsOf('media_ids');
        const arranged = { current, imported: media_ids, is_complete };
        const wanted = arrangeMedia({ ...arranged, ...earlier, removed_by_hand: NOTHING, is_by_hand: false });
        const next = overwrite ? wanted : arrangeMedia({ ...arranged, ...earlier });
        effects = {
          overwritten: isSameValue(next.slice(0, current.length), current) ? [] : ['media_ids'],
          kept: isSameValue(next, wanted) ? [] : ['media_ids'],
        };
        return withVariants({ media_ids: next });
      };
      const { changed, value } = await updatePublication(deps, context, { environment, id }, patchOf);
      return { ...effects, ...(changed && { publication: value }) };
    },
    /** Returns the media of a publication, also those that were deleted since. */
    attachedMedia: async (id: PublicationId): Promise<readonly MediaId[]> =>
      (await findPublication(deps, environment, id))?.media_ids ?? [],
    listing: async (id: ListingId) =>
      presenceOf(await load({ ...source, aggregate: listingAggregate, id }), store_id),
    publication: async (id: PublicationId) =>
      presenceOf(await load({ ...source, aggregate: publicationAggregate, id }), store_id),
    /** Returns the publication of the store with this external id or this id, undefined if there is none. */
    publicationNamed: async (external_id: string): Promise<PublicationId | undefined> => {
      const owner_id = await ownerOf('external_id', external_id);
      if (owner_id) return owner_id;
      const id = parseId<PublicationId>(external_id);
      return id && (await findPublication(deps, environment, id))?.store_id === store_id ? id : undefined;
    },
    /** Returns the publication of the store that has this handle, undefined if there is none. */
    publicationOfHandle: (handle: string) => ownerOf('handle', handle),
    /** Returns the publication of the store that has a variant with this name, undefined if there is none. */
    publicationOfVariant: async (
      field: (typeof VARIANT_NAMES)[number],
      value: string,
    ): Promise<Publication | undefined> => {
      const owner = await holderOf('variant', field, value);
      return owner?.variants.some((variant) => variant[field] === value) ? owner : undefined;
    },
    media: async (id: MediaId) =>
      presenceOf(await load({ ...source, aggregate: mediaAggregate, id }), store_id),
  };
}

/** The images of a publication in the file. */
interface Attachment {
  readonly media_ids: readonly MediaId[];
  readonly pictures?: readonly VariantPicture[];
  /** Whether every image of the file was uploaded. Otherwise no picture leaves the publication. */
  readonly is_complete?: boolean;
}

const NOTHING: ReadonlySet<string> = new Set();

/** The picture of the variant with these values. */
interface VariantPicture {
  readonly option_values: OptionValues;
  readonly media_id: MediaId;
}

/**
 * Returns the changes with the pictures of variants. A variant keeps a picture that was chosen by hand (`isByHand`) while the
 * publication shows it. Only pictures that the publication shows are set.
 */
function withPictures(
  { variants, media_ids }: Publication,
  changes: PublicationPatch,
  pictures: readonly VariantPicture[],
  isByHand: (variant: Variant) => boolean = () => false,
): PublicationPatch {
  const shown: readonly string[] = changes.media_ids ?? media_ids;
  // The first picture of the same values counts.
  const by_values = new Map(pictures.toReversed().map((each) => [keyOfTexts(each.option_values), each]));
  const next = variants.map((variant) => {
    const picture = by_values.get(keyOfTexts(variant.option_values));
    const { media_id } = variant;
    const is_gone = media_id !== null && !shown.includes(media_id);
    return picture && shown.includes(picture.media_id) && (is_gone || !isByHand(variant))
      ? { ...variant, media_id: picture.media_id }
      : variant;
  });
  return isSameValue(next, variants) ? changes : { ...changes, variants: next };
}

function presenceOf({ state }: Loaded<{ readonly store_id: StoreId }>, store_id: StoreId): Presence {
  return state.tag === 'present' && state.resource.store_id !== store_id ? 'absent' : state.tag;
}

/** Converts a text to one line of at most ALT_MAX characters. */
function lineOf(alt: string | null): string | null {
  const line = (alt ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' ? null : [...line].slice(0, ALT_MAX).join('');
}

/** The media that a publication shows, who added them, and who arranged them. */
interface Shown extends ItemHistory {
  readonly current: readonly MediaId[];
  /** The media of the file, in its order. */
  readonly imported: readonly MediaId[];
  readonly is_complete: boolean;
}

/**
 * Returns the media of a publication after an import. Removes a picture that an earlier import added and that the file no
 * longer has. The other pictures get the order of the file. If someone has added or arranged pictures by hand, their order
 * stays: a new picture takes the place of a removed one, and further new pictures are added at the end. A picture that was
 * removed by hand does not come back.
 */
function arrangeMedia(shown: Shown): MediaId[] {
  const { current, imported, is_complete, by_import, removed_by_hand, is_by_hand } = shown;
  const leaves = (id: MediaId): boolean => is_complete && !imported.includes(id) && by_import.has(id);
  const added = imported.filter((id) => !current.includes(id) && !removed_by_hand.has(id));
  const has_others = current.some((id) => !imported.includes(id) && !leaves(id));
  const arranged = current.flatMap((id) => (leaves(id) ? added.splice(0, 1) : id));
  const next = is_by_hand || has_others ? [...arranged, ...added] : imported;
  return next.slice(0, PUBLICATION_MEDIA_MAX);
}
