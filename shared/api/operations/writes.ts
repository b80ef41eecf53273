import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import * as requests from '../requests/writes';
import * as examples from '../responses/examples';
import type { ApiOperation, Tag } from './operation';
import {
  AUTHENTICATION_CONDITIONS,
  BODY_CONDITIONS,
  FIELD_CONDITIONS,
  GENERAL_CONDITIONS,
  PARAMETER_CONDITIONS,
  WRITE_CONDITIONS,
} from './operation';

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

interface WriteWithBody<Path extends string, Answer extends z.ZodType, Body extends z.ZodType>
  extends Write<Path, Answer> {
  readonly schema: Body;
  readonly sample: z.input<Body>;
}

const common = { security: 'bearer', query: requests.writeQuerySchema } as const;
const COMMON_CONDITIONS = [
  ...AUTHENTICATION_CONDITIONS,
  ...PARAMETER_CONDITIONS,
  ...BODY_CONDITIONS,
  ...WRITE_CONDITIONS,
  ...GENERAL_CONDITIONS,
] as const;
const json = (schema: z.ZodType, example: unknown) => ({ 'application/json': { schema, example } });
const WRITE_HEADERS = ['X-Catalog-Position', 'Idempotent-Replayed', 'Preference-Applied'] as const;

function create<const Path extends string, Answer extends z.ZodType, Body extends z.ZodType>(
  options: WriteWithBody<Path, Answer, Body>,
) {
  const { answer, example, schema, sample, ...rest } = options;
  return {
    ...{ ...rest, ...common, schema, answer },
    method: 'POST',
    body: { required: true, content: json(schema, sample) },
    successes: {
      201: {
        description: 'The new resource.',
        headers: ['Location', 'ETag', ...WRITE_HEADERS],
        content: json(answer, example),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS],
  } as const satisfies ApiOperation & { schema: Body; answer: Answer };
}

function update<const Path extends string, Answer extends z.ZodType, Body extends z.ZodType>(
  options: WriteWithBody<Path, Answer, Body> & { readonly not_found: Condition },
) {
  const { answer, example, schema, sample, not_found, ...rest } = options;
  return {
    ...{ ...rest, ...common, schema, answer },
    method: 'PATCH',
    body: { required: true, content: json(schema, sample) },
    successes: {
      200: {
        description: 'The changed resource.',
        headers: ['ETag', ...WRITE_HEADERS],
        content: json(answer, example),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, not_found, 'precondition_failed'],
  } as const satisfies ApiOperation & { schema: Body; answer: Answer };
}

function remove<const Path extends string, Answer extends z.ZodType>(
  options: Write<Path, Answer> & {
    readonly query?: z.ZodType;
    readonly not_found: Condition;
    readonly refusals?: readonly Condition[];
  },
) {
  const { answer, example, not_found, refusals = [], ...rest } = options;
  return {
    ...{ ...common, ...rest, answer },
    method: 'DELETE',
    successes: {
      200: {
        description: 'The resource was deleted.',
        headers: WRITE_HEADERS,
        content: json(answer, example),
      },
    },
    conditions: [...COMMON_CONDITIONS, not_found, 'precondition_failed', ...refusals],
  } as const satisfies ApiOperation & { answer: Answer };
}

const listing = { tag: 'Listings', permission: 'write:listings' } as const;
const publication = { tag: 'Publications', permission: 'write:publications' } as const;
const media = { tag: 'Media', permission: 'write:media' } as const;
const deleted = <const Name extends 'listing' | 'publication' | 'media'>(object: Name) =>
  ({ id: examples.ids[object], object, deleted: true }) as const;
const pricePatch = { price_amount: 3600, quantity_available: 60 };

/** Every write of the interface (docs/interface.md#write-endpoints). */
export const writes = {
  createListing: create({
    ...listing,
    id: 'createListing',
    path: '/api/listing',
    summary: 'Create a listing',
    schema: requests.newListingBody,
    sample: examples.listingSample,
    answer: answers.NewListingAnswer,
    example: examples.answer(examples.newListing, 201),
  }),
  updateListing: update({
    ...listing,
    id: 'updateListing',
    path: '/api/listing/:id',
    summary: 'Update a listing',
    description: 'Changes the fields in the body and keeps all others. Null clears an optional field.',
    schema: requests.listingPatchBody,
    sample: { default_sort_mode: 'price_asc' },
    answer: answers.ListingAnswer,
    example: examples.answer(examples.listing),
    not_found: 'listing_not_found',
  }),
  deleteListing: remove({
    ...listing,
    id: 'deleteListing',
    path: '/api/listing/:id',
    summary: 'Delete a listing',
    description:
      'Publications of the listing are not deleted; they no longer belong to a listing. With `if_empty=true`, a listing with publications is not deleted.',
    query: requests.deleteListingSchema,
    answer: answers.DeletedListingAnswer,
    example: examples.answer({ ...deleted('listing'), publication_count: 24 }),
    not_found: 'listing_not_found',
    refusals: ['listing_not_empty'],
  }),
  createPublication: create({
    ...publication,
    id: 'createPublication',
    path: '/api/publication',
    summary: 'Create a publication',
    schema: requests.newPublicationBody,
    sample: examples.publicationSample,
    answer: answers.NewPublicationAnswer,
    example: examples.answer(examples.newPublication, 201),
  }),
  updatePublication: update({
    ...publication,
    id: 'updatePublication',
    path: '/api/publication/:id',
    summary: 'Update a publication',
    description: 'Changes the fields in the body and keeps all others. Null clears an optional field.',
    schema: requests.publicationPatchBody,
    sample: pricePatch,
    answer: answers.PublicationAnswer,
    example: examples.answer({ ...examples.publication, ...pricePatch }),
    not_found: 'publication_not_found',
  }),
  deletePublication: remove({
    ...publication,
    id: 'deletePublication',
    path: '/api/publication/:id',
    summary: 'Delete a publication',
    answer: answers.DeletedPublicationAnswer,
    example: examples.answer(deleted('publication')),
    not_found: 'publication_not_found',
  }),
  uploadMedia: {
    ...{ ...media, ...common, answer: answers.NewMediaAnswer },
    id: 'uploadMedia',
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
        content: json(answers.NewMediaAnswer, examples.answer(examples.newMedia, 201)),
      },
    },
    conditions: [...COMMON_CONDITIONS, ...FIELD_CONDITIONS, 'unsupported_image'],
  } as const satisfies ApiOperation,
  deleteMedia: remove({
    ...media,
    id: 'deleteMedia',
    path: '/api/media/:id',
    summary: 'Delete a media file',
    description: 'Also removes the file from all publications and listings that show it.',
    answer: answers.DeletedMediaAnswer,
    example: examples.answer(deleted('media')),
    not_found: 'media_not_found',
  }),
};
