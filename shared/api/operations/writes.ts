import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import {
  listingPatchBody,
  newListingBody,
  newPublicationBody,
  publicationPatchBody,
  uploadForm,
  uploadQuerySchema,
  writeQuerySchema,
} from '../requests/writes';
import { exampleIds, exampleListing, exampleMedia, examplePublication } from '../responses/examples';
import type { ApiOperation, Tag } from './operation';
import { ALWAYS, AUTHENTICATION, BODY, FIELDS, PARAMETERS, WRITING } from './operation';

interface Write<Path extends string, Answer extends z.ZodType> {
  readonly id: string;
  readonly path: Path;
  readonly tag: Tag;
  readonly permission: Permission;
  readonly summary: string;
  readonly description?: string;
  readonly answer: Answer;
  readonly example: z.output<Answer>;
}

interface WithBody<Path extends string, Answer extends z.ZodType, Body extends z.ZodType>
  extends Write<Path, Answer> {
  readonly schema: Body;
  readonly sample: z.input<Body>;
}

const common = { security: 'bearer', query: writeQuerySchema } as const;
const always = [...AUTHENTICATION, ...PARAMETERS, ...BODY, ...WRITING, ...ALWAYS] as const;
const json = (schema: z.ZodType, example: unknown) => ({ 'application/json': { schema, example } });
const written = ['X-Catalog-Position', 'Idempotent-Replayed', 'Preference-Applied'] as const;

function create<const Path extends string, Answer extends z.ZodType, Body extends z.ZodType>(
  options: WithBody<Path, Answer, Body>,
) {
  const { answer, example, schema, sample, ...rest } = options;
  return {
    ...{ ...rest, ...common, schema, answer },
    method: 'POST',
    body: { required: true, content: json(schema, sample) },
    successes: {
      201: {
        description: 'Made: the whole resource.',
        headers: ['Location', 'ETag', ...written],
        content: json(answer, example),
      },
    },
    conditions: [...always, ...FIELDS],
  } as const satisfies ApiOperation & { schema: Body; answer: Answer };
}

function update<const Path extends string, Answer extends z.ZodType, Body extends z.ZodType>(
  options: WithBody<Path, Answer, Body> & { readonly missing: Condition },
) {
  const { answer, example, schema, sample, missing, ...rest } = options;
  return {
    ...{ ...rest, ...common, schema, answer },
    method: 'PATCH',
    body: { required: true, content: json(schema, sample) },
    successes: {
      200: {
        description: 'Changed: the whole resource.',
        headers: ['ETag', ...written],
        content: json(answer, example),
      },
    },
    conditions: [...always, ...FIELDS, missing, 'precondition_failed'],
  } as const satisfies ApiOperation & { schema: Body; answer: Answer };
}

function remove<const Path extends string, Answer extends z.ZodType>(
  options: Write<Path, Answer> & { readonly missing: Condition },
) {
  const { answer, example, missing, ...rest } = options;
  return {
    ...{ ...rest, ...common, answer },
    method: 'DELETE',
    successes: { 200: { description: 'Gone.', headers: written, content: json(answer, example) } },
    conditions: [...always, missing, 'precondition_failed'],
  } as const satisfies ApiOperation & { answer: Answer };
}

const listing = { tag: 'Listings', permission: 'write:listings' } as const;
const publication = { tag: 'Publications', permission: 'write:publications' } as const;
const media = { tag: 'Media', permission: 'write:media' } as const;
const { stats: _counted, ...patchedListing } = exampleListing;
const { url: _url, placeholder: _placeholder, ...uploaded } = exampleMedia;
const processingMedia = { ...uploaded, status: 'processing', variants: [] } as const;

/** Every write of the interface (spec, "Write endpoints"). */
export const writes = {
  createListing: create({
    ...listing,
    id: 'createListing',
    path: '/api/listing',
    summary: 'Create a listing',
    schema: newListingBody,
    sample: { name: 'Coffee', description: 'Roasted on Tuesdays.', default_sort_mode: 'price_asc' },
    answer: answers.NewListingAnswer,
    example: { code: 201, status: 'OK', data: exampleListing },
  }),
  updateListing: update({
    ...listing,
    id: 'updateListing',
    path: '/api/listing/:id',
    summary: 'Change a listing',
    description: 'Any subset of the fields; null clears an optional one. Answers without `stats`.',
    schema: listingPatchBody,
    sample: { default_sort_mode: 'price_asc' },
    answer: answers.ListingAnswer,
    example: { code: 200, status: 'OK', data: patchedListing },
    missing: 'listing_not_found',
  }),
  deleteListing: remove({
    ...listing,
    id: 'deleteListing',
    path: '/api/listing/:id',
    summary: 'Delete a listing',
    description: 'Its publications stay, without a listing.',
    answer: answers.DeletedListingAnswer,
    example: { code: 200, status: 'OK', data: { id: exampleIds.listing, object: 'listing', deleted: true } },
    missing: 'listing_not_found',
  }),
  createPublication: create({
    ...publication,
    id: 'createPublication',
    path: '/api/publication',
    summary: 'Create a publication',
    schema: newPublicationBody,
    sample: {
      title: examplePublication.title,
      description: examplePublication.description,
      price_currency: 'PEN',
      price_amount: 3400,
      quantity_available: 80,
    },
    answer: answers.NewPublicationAnswer,
    example: { code: 201, status: 'OK', data: examplePublication },
  }),
  updatePublication: update({
    ...publication,
    id: 'updatePublication',
    path: '/api/publication/:id',
    summary: 'Change a publication',
    description: 'Any subset of the fields; null clears an optional one.',
    schema: publicationPatchBody,
    sample: { price_amount: 3600, quantity_available: 60 },
    answer: answers.PublicationAnswer,
    example: { code: 200, status: 'OK', data: examplePublication },
    missing: 'publication_not_found',
  }),
  deletePublication: remove({
    ...publication,
    id: 'deletePublication',
    path: '/api/publication/:id',
    summary: 'Delete a publication',
    answer: answers.DeletedPublicationAnswer,
    example: {
      ...{ code: 200, status: 'OK' },
      data: { id: exampleIds.publication, object: 'publication', deleted: true },
    },
    missing: 'publication_not_found',
  }),
  uploadMedia: {
    ...{ ...media, ...common, answer: answers.NewMediaAnswer },
    id: 'uploadMedia',
    path: '/api/media',
    summary: 'Upload a picture',
    description:
      'Answered as soon as the file is kept, with `status: processing`; a moment later it is `ready`, or `failed`.',
    query: uploadQuerySchema,
    field_permissions: { publication_id: 'write:publications', listing_id: 'write:listings' },
    method: 'POST',
    body: {
      required: true,
      content: {
        'multipart/form-data': { schema: uploadForm },
        'image/*': {},
      },
    },
    successes: {
      201: {
        description: 'Taken in: the whole record.',
        headers: ['Location', 'ETag', ...written],
        content: json(answers.NewMediaAnswer, {
          ...{ code: 201, status: 'OK' },
          data: processingMedia,
        }),
      },
    },
    conditions: [...always, ...FIELDS, 'unsupported_image'],
  } as const satisfies ApiOperation,
  deleteMedia: remove({
    ...media,
    id: 'deleteMedia',
    path: '/api/media/:id',
    summary: 'Delete a media',
    description: 'It is taken off everything that shows it.',
    answer: answers.DeletedMediaAnswer,
    example: { code: 200, status: 'OK', data: { id: exampleIds.media, object: 'media', deleted: true } },
    missing: 'media_not_found',
  }),
};
