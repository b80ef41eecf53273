import { z } from 'zod';
import { newShape, patchShape } from '../../catalog/fields';
import { idField, lineField } from '../../catalog/input-rules';
import { listingFields } from '../../catalog/listing/fields';
import { publicationFields } from '../../catalog/publication/fields';
import { queryId } from './parameters';

/**
 * The bodies of the writes (decisions §6). Null clears; where a resource always has a value, null is refused like a
 * missing one. A new resource's `store_id` null is as good as none; a PATCH may send it back, never change it.
 */

/** The file of an upload, in bytes (spec, "Other limits"). */
export const UPLOAD_BYTES_MAX = 10_485_760;
export const ALT_MAX = 500;

/** The query parameters of a write. */
export const writeQuerySchema = z.object({
  store_id: queryId
    .optional()
    .describe('The store that the resource is in or goes to; without it any, or the first, of the token.'),
});

const storeOfNew = { store_id: idField.nullish() };
const storeOfPatch = { store_id: idField.optional() };

/** `POST /api/publication`. */
export const newPublicationBody = z.strictObject({ ...newShape(publicationFields), ...storeOfNew });

/** `PATCH /api/publication/:id`: any subset. */
export const publicationPatchBody = z.strictObject({ ...patchShape(publicationFields), ...storeOfPatch });

/** `POST /api/listing`. */
export const newListingBody = z.strictObject({ ...newShape(listingFields), ...storeOfNew });

/** `PATCH /api/listing/:id`: any subset. */
export const listingPatchBody = z.strictObject({ ...patchShape(listingFields), ...storeOfPatch });

const alt = lineField(ALT_MAX).describe('What the picture shows, for who cannot see it.');
const PUT_ON = 'to whose media it is added, as the last';

/** `POST /api/media`: with the bytes alone its fields are query parameters; they are also where a form leaves them out. */
export const uploadQuerySchema = writeQuerySchema.extend({
  alt: alt.optional(),
  publication_id: queryId.optional().describe(`A publication ${PUT_ON}.`),
  listing_id: queryId.optional().describe(`A listing ${PUT_ON}.`),
});

const uploadFields = {
  alt: alt.optional(),
  publication_id: idField.optional().describe(`A publication ${PUT_ON}.`),
  listing_id: idField.optional().describe(`A listing ${PUT_ON}.`),
  store_id: idField.optional(),
};

/** The form as it is sent; a field that is empty counts as left out. */
export const uploadForm = z.strictObject({
  file: z.string().meta({
    format: 'binary',
    description: 'JPEG, PNG, WebP, GIF or AVIF by its bytes; at most 10,485,760 of them and 50 megapixels.',
  }),
  ...uploadFields,
});

/** The same, with what stands for the bytes once they are kept. */
export const keptUpload = z.strictObject({
  file: z.object({ hash: z.string(), size_bytes: z.int() }),
  ...uploadFields,
});
