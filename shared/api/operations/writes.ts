import type { z } from 'zod';
import { RESTORABLE_DAYS } from '../../catalog/field-aggregate';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { mapValues } from '../documentation';
import type { ResponseHeader } from '../headers';
import * as requests from '../requests/writes';
import * as examples from '../responses/examples';
import type { ApiOperation, Operation, Success, Tag, Unnamed } from './operation';
import {
  AUTHENTICATION_CONDITIONS,
  BODY_CONDITIONS,
  FIELD_CONDITIONS,
  GENERAL_CONDITIONS,
  PARAMETER_CONDITIONS,
  WRITE_CONDITIONS,
  withIds,
} from './operation';
import { IMPORT_PERMISSIONS, IMPORTS_NEED } from './reads';

interface Write extends Pick<ApiOperation, 'path' | 'tag' | 'permission' | 'summary' | 'description'> {
  readonly answer: z.ZodType;
  /** Default: that of the schema. */
  readonly example?: unknown;
}

interface WriteWithBody extends Write {
  readonly schema: z.ZodType;
  /** The example of the body. */
  readonly sample: object;
}

const common = { security: 'bearer', query: requests.writeQuerySchema } as const;
const COMMON_CONDITIONS = [
  ...AUTHENTICATION_CONDITIONS,
  ...PARAMETER_CONDITIONS,
  ...BODY_CONDITIONS,
  ...WRITE_CONDITIONS,
  ...GENERAL_CONDITIONS,
] as const;
const json = (schema: z.ZodType, example?: unknown) => ({ 'application/json': { schema, example } });
const WRITE_HEADERS = ['X-Catalog-Position', 'Idempotent-Replayed', 'Preference-Applied'] as const;

function create(
  options: WriteWithBody & { readonly refusals?: readonly Condition[] },
): Unnamed<ApiOperation> {
  const { answer, schema, sample, refusals = [], ...rest } = options;
  return {
    ...{ ...rest, ...common },
    method: 'POST',
    body: { required: true, content: json(schema, sample) },
    successes: {
      201: {
        description: 'The new resource.',
        headers: ['Location', 'ETag', ...WRITE_HEADERS],
        content: json(answer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, ...refusals],
  };
}

function update(
  options: WriteWithBody & { readonly not_found: Condition; readonly refusals?: readonly Condition[] },
): Unnamed<ApiOperation> {
  const { answer, example, schema, sample, not_found, refusals = [], ...rest } = options;
  return {
    ...{ ...rest, ...common },
    method: 'PATCH',
    body: { required: true, content: json(schema, sample) },
    successes: {
      200: {
        description: 'The changed resource.',
        headers: ['ETag', ...WRITE_HEADERS],
        content: json(answer, example),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, not_found, 'precondition_failed', ...refusals],
  };
}

function put(options: WriteWithBody): Unnamed<ApiOperation> {
  const { answer, schema, sample, ...rest } = options;
  const answered = (description: string) => ({
    description,
    headers: ['ETag', ...WRITE_HEADERS] as const,
    content: json(answer),
  });
  return {
    ...{ ...rest, ...common },
    method: 'PUT',
    description:
      'Creates the resource, or changes the fields in the body and keeps all others. Sending it again changes nothing. `result` is `created`, `updated` or `unchanged`.',
    body: { required: true, content: json(schema, sample) },
    successes: { 200: answered('The resource, changed or not.'), 201: answered('The new resource.') },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, 'precondition_failed', 'name_taken'],
  };
}

function remove(
  options: Write & {
    readonly query?: z.ZodType;
    readonly not_found: Condition;
    readonly refusals?: readonly Condition[];
  },
): Unnamed<ApiOperation> {
  const { answer, not_found, refusals = [], ...rest } = options;
  return {
    ...{ ...common, ...rest },
    method: 'DELETE',
    successes: {
      200: {
        description: 'The resource was deleted.',
        headers: WRITE_HEADERS,
        content: json(answer),
      },
    },
    conditions: [...COMMON_CONDITIONS, not_found, 'precondition_failed', ...refusals],
  };
}

/** A POST without a body, to a resource by its id. */
function act(
  options: Write & { readonly not_found: Condition; readonly refusals?: readonly Condition[] },
): Unnamed<ApiOperation> {
  const { answer, example, not_found, refusals = [], ...rest } = options;
  return {
    ...{ ...rest, ...common },
    method: 'POST',
    successes: {
      200: {
        description: 'The resource.',
        headers: ['ETag', ...WRITE_HEADERS],
        content: json(answer, example),
      },
    },
    conditions: [...COMMON_CONDITIONS, not_found, ...refusals],
  };
}

/** A step of an import, which goes on after the answer. */
function startImport(
  options: Pick<ApiOperation, 'path' | 'summary' | 'description' | 'body'> & {
    readonly headers?: readonly ResponseHeader[];
    readonly refusals?: readonly Condition[];
  },
): Unnamed<ApiOperation> {
  const { headers = [], refusals = [], description, ...rest } = options;
  return {
    ...{ ...rest, ...common },
    tag: 'Imports',
    permission: 'write:publications',
    further_permissions: IMPORT_PERMISSIONS,
    description: `${description} ${IMPORTS_NEED}`,
    method: 'POST',
    successes: {
      202: {
        description: 'The import.',
        headers: ['Idempotent-Replayed', ...headers],
        content: json(answers.StartedImportAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...refusals],
  };
}
/** A decision about a proposal. */
const decide = (
  options: Pick<ApiOperation, 'path' | 'summary'> & { readonly description: string },
): Unnamed<ApiOperation> => ({
  ...act({
    ...options,
    tag: 'Proposals',
    permission: 'read:publications',
    description: `${options.description} Requires a secret key that could make the write itself, and needs no confirmation.`,
    answer: answers.ProposalAnswer,
    not_found: 'proposal_not_found',
    refusals: [...FIELD_CONDITIONS, 'proposal_refused'],
  }),
});
const REFUSED_STEP = ['import_not_found', 'import_refused'] as const;

const listing = { tag: 'Listings', permission: 'write:listings' } as const;
const publication = { tag: 'Publications', permission: 'write:publications' } as const;
const media = { tag: 'Media', permission: 'write:media' } as const;
const review = { tag: 'Publications', permission: 'write:reviews' } as const;
const webhook = { tag: 'Webhooks', permission: 'write:webhooks' } as const;
const key = { tag: 'Keys', permission: 'write:stores' } as const;
/** How many keys of a store work at the same time. */
export const KEYS_MAX = 100;
const SECRET_DOC =
  'The answer has the key itself, once: if the request is repeated with its `Idempotency-Key`, the answer is the same without `secret`.';
const MANAGER_DOC =
  'The key of the request must have all permissions of secret keys, no rate limits of its own, no expiry and no need for confirmation.';
const revokedKey = examples.answer({ ...examples.key, status: 'revoked' });
/** A write of the `control` log: without a version, and without a position, because positions are those of the store's log. */
const keyWrite = (
  { conditions, ...operation }: Unnamed<ApiOperation>,
  successes: Readonly<Record<number, Omit<Success, 'headers'>>>,
): Unnamed<ApiOperation> => ({
  ...operation,
  successes: mapValues(successes, (success) => ({ ...success, headers: ['Idempotent-Replayed'] as const })),
  conditions: conditions.filter((one) => one !== 'store_not_found' && one !== 'precondition_failed'),
});
const reviewSample = { rating: 5, author_name: 'Diego', verified_purchase: true };
const mediaPatch = { alt: 'A bag of coffee from Jaén', focal_point: { x: 0.5, y: 0.4 } };
const storePatch = { contact: { phone: '+51 1 555 0199' } };
const pricePatch = { price_amount: 3600, quantity_available: 60 };

/** Every write of the interface (docs/interface/README.md#endpoints). */
export const writes = withIds({
  createListing: create({
    ...listing,
    path: '/api/listing',
    summary: 'Create a listing',
    schema: requests.newListingBody,
    sample: examples.listingSample,
    answer: answers.NewListingAnswer,
    refusals: ['name_taken'],
  }),
  updateListing: update({
    ...listing,
    path: '/api/listing/:id',
    summary: 'Update a listing',
    description: 'Changes the fields in the body and keeps all others. Null clears an optional field.',
    schema: requests.listingPatchBody,
    sample: { default_sort_mode: 'price_asc' },
    answer: answers.ListingAnswer,
    not_found: 'listing_not_found',
    refusals: ['name_taken'],
  }),
  putListing: put({
    ...listing,
    path: '/api/listing/by-external-id/:external_id',
    summary: 'Create or update the listing with an external id',
    schema: requests.listingPatchBody,
    sample: examples.listingSample,
    answer: answers.PutListingAnswer,
  }),
  deleteListing: remove({
    ...listing,
    path: '/api/listing/:id',
    summary: 'Delete a listing',
    description:
      'Publications of the listing are not deleted; they no longer belong to a listing. With `if_empty=true`, a listing with publications is not deleted. A listing with listings below it is never deleted.',
    query: requests.deleteListingSchema,
    answer: answers.DeletedListingAnswer,
    not_found: 'listing_not_found',
    refusals: ['listing_not_empty'],
  }),
  deleteListingByExternalId: remove({
    ...listing,
    path: '/api/listing/by-external-id/:external_id',
    summary: 'Delete the listing with an external id',
    description: 'As the deletion by id.',
    query: requests.deleteListingSchema,
    answer: answers.DeletedListingAnswer,
    not_found: 'listing_not_found',
    refusals: [...FIELD_CONDITIONS, 'listing_not_empty'],
  }),
  restoreListing: act({
    ...listing,
    path: '/api/listing/:id/restore',
    summary: 'Restore a deleted listing',
    description: `Undoes a deletion of the last ${RESTORABLE_DAYS} days: the listing has its publications again, except those that were moved meanwhile. Changes nothing if the listing is not deleted.`,
    answer: answers.ListingAnswer,
    not_found: 'listing_not_found',
    refusals: ['name_taken', 'field_invalid'],
  }),
  arrangeFeatured: {
    ...{ ...publication, ...common },
    tag: 'Listings',
    path: '/api/listing/:id/featured',
    summary: 'Set the featured publications of a listing',
    description:
      'Gives the publications the positions 1, 2, 3 and so on. All other publications of the listing are no longer featured. If some of them could not be changed, send the request again.',
    method: 'POST',
    body: { required: true, content: json(requests.featuredOrderBody) },
    successes: {
      200: { description: 'The order.', headers: WRITE_HEADERS, content: json(answers.FeaturedOrderAnswer) },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, 'listing_not_found', 'precondition_failed'],
  },
  createPublication: create({
    ...publication,
    path: '/api/publication',
    summary: 'Create a publication',
    schema: requests.newPublicationBody,
    sample: examples.publicationSample,
    answer: answers.NewPublicationAnswer,
    refusals: ['name_taken'],
  }),
  updatePublication: update({
    ...publication,
    path: '/api/publication/:id',
    summary: 'Update a publication',
    description: 'Changes the fields in the body and keeps all others. Null clears an optional field.',
    schema: requests.publicationPatchBody,
    sample: pricePatch,
    answer: answers.PublicationAnswer,
    example: examples.answer({ ...examples.publication, ...pricePatch }),
    not_found: 'publication_not_found',
    refusals: ['name_taken'],
  }),
  putPublication: put({
    ...publication,
    path: '/api/publication/by-external-id/:external_id',
    summary: 'Create or update the publication with an external id',
    schema: requests.publicationPatchBody,
    sample: examples.publicationSample,
    answer: answers.PutPublicationAnswer,
  }),
  batchPublications: {
    ...{ ...publication, ...common },
    path: '/api/publications/batch',
    summary: 'Write many publications',
    description:
      'Creates, updates, puts and deletes up to 500 publications of a store. Each item has a result of its own. One `Idempotency-Key` covers all.',
    query: requests.batchQuerySchema,
    method: 'POST',
    body: { required: true, content: json(requests.publicationBatchBody) },
    successes: {
      200: {
        description: 'What became of each item.',
        headers: WRITE_HEADERS,
        content: json(answers.BatchAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS],
  },
  setListPrices: {
    ...common,
    tag: 'Prices',
    permission: 'write:publications',
    path: '/api/list-prices',
    summary: 'Set prices in a price list',
    description:
      'Replaces the prices of each publication in the body, and keeps those of all others. If an item is invalid, nothing is written. Each item counts as a request for the rate limit.',
    method: 'PUT',
    body: { required: true, content: json(requests.listPricesBody, examples.newListPrices) },
    successes: {
      200: {
        description: 'The prices are set.',
        headers: WRITE_HEADERS,
        content: json(answers.SetListPricesAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS],
  },
  deletePublication: remove({
    ...publication,
    path: '/api/publication/:id',
    summary: 'Delete a publication',
    answer: answers.DeletedPublicationAnswer,
    not_found: 'publication_not_found',
  }),
  deletePublicationByExternalId: remove({
    ...publication,
    path: '/api/publication/by-external-id/:external_id',
    summary: 'Delete the publication with an external id',
    answer: answers.DeletedPublicationAnswer,
    not_found: 'publication_not_found',
    refusals: FIELD_CONDITIONS,
  }),
  createVariant: create({
    ...publication,
    path: '/api/publication/:id/variants',
    summary: 'Add a variant to a publication',
    description: 'The `ETag` of variants is that of their publication.',
    schema: requests.newVariantBody,
    sample: examples.variantSample,
    answer: answers.NewVariantAnswer,
    refusals: ['publication_not_found', 'precondition_failed'],
  }),
  updateVariant: update({
    ...publication,
    path: '/api/variant/:id',
    summary: 'Update a variant',
    description:
      'Changes the fields in the body and keeps all others. Null clears an optional field. The `ETag` of variants is that of their publication.',
    schema: requests.variantPatchBody,
    sample: { quantity_available: { adjust: -1 } },
    answer: answers.VariantAnswer,
    not_found: 'variant_not_found',
    refusals: ['insufficient_stock'],
  }),
  deleteVariant: remove({
    ...publication,
    path: '/api/variant/:id',
    summary: 'Delete a variant',
    answer: answers.DeletedVariantAnswer,
    not_found: 'variant_not_found',
  }),
  restorePublication: act({
    ...publication,
    path: '/api/publication/:id/restore',
    summary: 'Restore a deleted publication',
    description: `Undoes a deletion of the last ${RESTORABLE_DAYS} days. Changes nothing if the publication is not deleted.`,
    answer: answers.PublicationAnswer,
    not_found: 'publication_not_found',
    refusals: ['name_taken'],
  }),
  revertPublication: {
    ...act({
      ...publication,
      path: '/api/publication/:id/revert',
      summary: 'Return a publication to an earlier revision',
      description:
        'Gives the fields the values that they had at a revision of the history, besides `external_id` and `handle`. Changes nothing if they have them. References to what was deleted are not restored.',
      answer: answers.RevertedPublicationAnswer,
      not_found: 'publication_not_found',
      refusals: [...FIELD_CONDITIONS, 'precondition_failed', 'name_taken'],
    }),
    body: { required: true, content: json(requests.revertBody) },
  },
  uploadMedia: {
    ...{ ...media, ...common },
    path: '/api/media',
    summary: 'Upload a picture',
    description:
      'Stores the file and responds with `status: processing`. When the service has generated the pictures, the status becomes `ready`, or `failed` if it cannot decode the file.',
    query: requests.uploadQuerySchema,
    field_permissions: { publication_id: 'write:publications', listing_id: 'write:listings' },
    method: 'POST',
    body: {
      required: true,
      content: {
        'multipart/form-data': { schema: requests.uploadForm },
        'image/*': {},
      },
    },
    successes: {
      201: {
        description: 'The new media record.',
        headers: ['Location', 'ETag', ...WRITE_HEADERS],
        content: json(answers.NewMediaAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, 'unsupported_image'],
  },
  updateMedia: update({
    ...media,
    path: '/api/media/:id',
    summary: 'Update a media file',
    description:
      'Changes the fields in the body and keeps all others, everywhere the picture is shown. Null clears a field.',
    schema: requests.mediaPatchBody,
    sample: mediaPatch,
    answer: answers.MediaAnswer,
    example: examples.answer({ ...examples.media, ...mediaPatch }),
    not_found: 'media_not_found',
  }),
  deleteMedia: remove({
    ...media,
    path: '/api/media/:id',
    summary: 'Delete a media file',
    description: 'Also removes the file from all publications and listings that show it.',
    answer: answers.DeletedMediaAnswer,
    not_found: 'media_not_found',
  }),
  updateStore: update({
    tag: 'Stores',
    permission: 'write:stores',
    path: '/api/store',
    summary: 'Update a store',
    description:
      "Changes the store of `store_id`, or the first of the token's stores: the fields in the body, and no others. `contact`, `policies` and `businessHours` are replaced as a whole. Null clears an optional field.",
    schema: requests.storePatchBody,
    sample: storePatch,
    answer: answers.StoreAnswer,
    example: examples.answer({ ...examples.store, ...storePatch }),
    not_found: 'store_not_found',
    refusals: ['invalid_email'],
  }),
  createReview: create({
    ...review,
    path: '/api/publication/:id/reviews',
    summary: 'Create a review of a publication',
    description: "Its status is that of the body, else the store's `new_review_status`, else `published`.",
    schema: requests.newReviewBody,
    sample: reviewSample,
    answer: answers.NewReviewAnswer,
    refusals: ['publication_not_found'],
  }),
  updateReview: update({
    ...review,
    path: '/api/review/:id',
    summary: 'Moderate a review',
    description: 'Only published reviews are shown by storefronts and counted in summaries.',
    schema: requests.reviewPatchBody,
    sample: { status: 'published' },
    answer: answers.ReviewAnswer,
    not_found: 'review_not_found',
  }),
  deleteReview: remove({
    ...review,
    path: '/api/review/:id',
    summary: 'Delete a review',
    answer: answers.DeletedReviewAnswer,
    not_found: 'review_not_found',
  }),
  createKey: keyWrite(
    create({
      ...key,
      path: '/api/key',
      summary: 'Create an API key',
      description: `The key has the environment of the key of the request, and the store of \`store_id\`, by default all of its stores. A store has at most ${KEYS_MAX} keys that work. ${SECRET_DOC} ${MANAGER_DOC}`,
      schema: requests.newKeyBody,
      sample: { name: 'Shop window', type: 'public' },
      answer: answers.NewKeyAnswer,
      refusals: ['too_many_keys'],
    }),
    { 201: { description: 'The new key.', content: json(answers.NewKeyAnswer) } },
  ),
  updateKey: keyWrite(
    update({
      ...key,
      path: '/api/key/:id',
      summary: 'Change an API key',
      description: MANAGER_DOC,
      schema: requests.keyPatchBody,
      sample: { name: 'Shop window' },
      answer: answers.KeyAnswer,
      not_found: 'key_not_found',
      refusals: ['key_of_request'],
    }),
    { 200: { description: 'The key.', content: json(answers.KeyAnswer) } },
  ),
  rotateKey: keyWrite(
    act({
      ...key,
      path: '/api/key/:id/rotate',
      summary: 'Replace an API key',
      description: `Creates a key with the same rights. The old one works for another day. ${SECRET_DOC} ${MANAGER_DOC}`,
      answer: answers.NewKeyAnswer,
      not_found: 'key_not_found',
    }),
    { 201: { description: 'The new key.', content: json(answers.NewKeyAnswer) } },
  ),
  revokeKey: keyWrite(
    remove({
      ...key,
      path: '/api/key/:id',
      summary: 'Revoke an API key',
      description: `Programs with this key stop to work at once. It cannot be undone. ${MANAGER_DOC}`,
      answer: answers.KeyAnswer,
      not_found: 'key_not_found',
      refusals: ['key_of_request'],
    }),
    {
      200: { description: 'The key, which stays in the list.', content: json(answers.KeyAnswer, revokedKey) },
    },
  ),
  undoRun: {
    ...common,
    method: 'POST',
    tag: 'Runs',
    permission: 'write:publications',
    path: '/api/runs/:run/undo',
    summary: 'Undo a run',
    description:
      'Deletes what the run has created, restores what it has deleted, and sets the rest back, except what somebody has changed since. If the time of a request is not enough, `complete` is `false`: send it again. Requires a secret key that may write all that the run has written.',
    body: { required: false, content: json(requests.undoBody) },
    successes: {
      200: {
        description: 'What became of the changes of the run.',
        headers: WRITE_HEADERS,
        content: json(answers.UndoneRunAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, 'run_not_found'],
  },
  confirmProposal: decide({
    path: '/api/proposal/:id/confirm',
    summary: 'Confirm a proposal',
    description:
      'Carries the write out, in the name of the key that has proposed it, and answers with the proposal and its result. Changes nothing if that was done already.',
  }),
  rejectProposal: {
    ...decide({
      path: '/api/proposal/:id/reject',
      summary: 'Reject a proposal',
      description: 'Changes nothing if it is rejected already.',
    }),
    body: { required: false, content: json(requests.rejectionBody) },
  },
  createImport: startImport({
    path: '/api/imports',
    summary: 'Upload a file to import',
    description:
      'Stores the file and starts its preview, which changes nothing. If another import of the store runs, the preview is `stopped`, and waits until it is started.',
    body: { required: true, content: { 'multipart/form-data': { schema: requests.importForm } } },
    headers: ['Location'],
    refusals: FIELD_CONDITIONS,
  }),
  previewImport: startImport({
    path: '/api/import/:id/preview',
    summary: 'Start a preview',
    description: 'Reads the file again, with other settings if the body has some. Changes nothing else.',
    body: { required: false, content: json(requests.importSettingsBody) },
    refusals: [...FIELD_CONDITIONS, ...REFUSED_STEP],
  }),
  startImport: startImport({
    path: '/api/import/:id/start',
    summary: 'Start an import',
    description:
      'Writes the file into the store, with the settings of its preview. Goes on with an import that was stopped.',
    refusals: REFUSED_STEP,
  }),
  undoImport: startImport({
    path: '/api/import/:id/undo',
    summary: 'Undo an import',
    description:
      'Deletes the publications and listings that the import has created, and returns the others to their earlier values, except those that somebody has changed since. New pictures and reviews stay.',
    refusals: REFUSED_STEP,
  }),
  deleteImport: {
    ...common,
    method: 'DELETE',
    tag: 'Imports',
    permission: 'write:publications',
    further_permissions: IMPORT_PERMISSIONS,
    path: '/api/import/:id',
    summary: 'Delete an import',
    description: `Deletes the file and its report. What was imported stays. ${IMPORTS_NEED}`,
    successes: {
      200: {
        description: 'The import was deleted.',
        headers: ['Idempotent-Replayed'],
        content: json(answers.DeletedImportAnswer),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...REFUSED_STEP],
  },
  createWebhook: create({
    ...webhook,
    path: '/api/webhook',
    summary: 'Create a webhook',
    description:
      'Sends the changes of the store from now on, as Standard Webhooks 1.0 says. The answer has the secret that signs them.',
    schema: requests.newWebhookBody,
    sample: { url: examples.webhook.url, events: examples.webhook.events },
    answer: answers.NewWebhookAnswer,
    refusals: ['invalid_url', 'too_many_webhooks'],
  }),
  updateWebhook: update({
    ...webhook,
    path: '/api/webhook/:id',
    summary: 'Update a webhook',
    description: 'Changes the fields in the body and keeps all others.',
    schema: requests.webhookPatchBody,
    sample: { status: 'active' },
    answer: answers.WebhookAnswer,
    not_found: 'webhook_not_found',
    refusals: ['invalid_url'],
  }),
  deleteWebhook: remove({
    ...webhook,
    path: '/api/webhook/:id',
    summary: 'Delete a webhook',
    answer: answers.DeletedWebhookAnswer,
    not_found: 'webhook_not_found',
  }),
  pingWebhook: act({
    ...webhook,
    path: '/api/webhook/:id/ping',
    summary: 'Send a ping',
    description: 'Sends a message of the type `webhook.ping`, once. The deliveries show what became of it.',
    answer: answers.WebhookAnswer,
    not_found: 'webhook_not_found',
  }),
  rotateWebhookSecret: act({
    ...webhook,
    path: '/api/webhook/:id/rotate-secret',
    summary: 'Replace the secret of a webhook',
    description: 'Both secrets sign the messages of the next 24 hours. The answer has the new one.',
    answer: answers.WebhookAnswer,
    example: examples.answer(examples.newWebhook),
    not_found: 'webhook_not_found',
  }),
  replayWebhook: {
    ...act({
      ...webhook,
      path: '/api/webhook/:id/replay',
      summary: 'Send changes again',
      description: 'Begins again after a change. What is pending comes again with the changes after it.',
      answer: answers.WebhookAnswer,
      not_found: 'webhook_not_found',
      refusals: [...FIELD_CONDITIONS, 'offset_of_other_log'],
    }),
    body: { required: true, content: json(requests.replayBody) },
  },
});

/**
 * What becomes of a write with a key that needs confirmation. `done`: it changes no catalog. `refused`: the key could free
 * itself of the confirmation, the write has a file, which is not stored with a proposal, or it has prices of a price list, which
 * every secret key would read in the proposal.
 */
export function proposalRule({ id, tag }: Operation): 'proposed' | 'done' | 'refused' {
  if (id === writes.createImport.id || id === writes.previewImport.id) return 'done';
  const refused: readonly Tag[] = ['Keys', 'Webhooks', 'Proposals', 'Prices'];
  if (refused.includes(tag) || id === writes.uploadMedia.id) return 'refused';
  return 'proposed';
}
