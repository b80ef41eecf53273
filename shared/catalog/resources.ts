import type { JsonObject, JsonValue } from './events/envelope';
import type { Listing } from './listing/listing';
import type { Media } from './media/media';
import { pictureAddress } from './media/media-address';
import type { Environment } from './realm';
import type { ReviewFields } from './review/review';
import type { PaymentMethodFields, Store } from './store/store';

/**
 * The resources in the shape that answers have (spec, "Resources and their fields"), used by the write side's
 * answers and by the documents alike. An optional field that is not set is left out, never null.
 */

/** Without `stats`: how many publications a listing has is known to the documents alone. */
export function listingResource(listing: Listing): JsonObject {
  return withoutNulls({
    id: listing.id,
    object: 'listing',
    name: listing.name,
    visibility: listing.visibility,
    description: listing.description,
    default_sort_mode: listing.default_sort_mode,
    created_at: listing.created_at,
    updated_at: listing.updated_at,
  });
}

/** Without `stats`, as above. */
export function storeResource(store: Store): JsonObject {
  return withoutNulls({
    id: store.id,
    object: 'store',
    name: store.name,
    status: store.status,
    description: store.description,
    businessHours: store.businessHours,
    contact: store.contact as JsonObject | null,
    policies: store.policies as JsonObject | null,
    ruc: store.ruc,
    created_at: store.created_at,
    updated_at: store.updated_at,
  });
}

/** Type and sizes are the upload's; what can be loaded is there when it is `ready`. */
export function mediaResource(media: Media, environment: Environment): JsonObject {
  const { progress } = media;
  const pictures = progress.status === 'ready' ? progress.pictures : null;
  return withoutNulls({
    id: media.id,
    object: 'media',
    status: progress.status,
    mime_type: media.mime_type,
    size_bytes: media.size_bytes,
    width: media.width,
    height: media.height,
    alt: media.alt,
    url: pictures && pictureAddress(environment, pictures.picture),
    variants: (pictures?.variants ?? []).map(({ name, hash, mime_type, width, height }) => ({
      name,
      url: pictureAddress(environment, { hash, mime_type }),
      width,
      height,
      mime_type,
    })),
    placeholder: pictures?.placeholder ?? null,
    created_at: media.created_at,
    updated_at: media.updated_at,
  });
}

export function paymentMethodResource(method: PaymentMethodFields): JsonObject {
  return withoutNulls({
    id: method.payment_method_id,
    object: 'payment_method',
    type: method.type,
    name: method.name,
    instructions: method.instructions,
    position: method.position,
  });
}

export function reviewResource(id: string, review: ReviewFields): JsonObject {
  return withoutNulls({
    id,
    object: 'review',
    publication_id: review.publication_id,
    rating: review.rating,
    title: review.title,
    body: review.body,
    author_name: review.author_name,
    verified: review.verified,
    created_at: review.created_at,
  });
}

function withoutNulls(fields: Record<string, JsonValue>): JsonObject {
  const kept: JsonObject = {};
  for (const name in fields) if (fields[name] !== null) kept[name] = fields[name]!;
  return kept;
}
