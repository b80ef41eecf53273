import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newPublicationBody, publicationPatchBody } from '../../shared/api/requests/writes';
import { fits } from '../../shared/catalog/input-rules';
import { HTML_MAX, PUBLICATION_MEDIA_MAX, publicationFields } from '../../shared/catalog/publication/fields';
import {
  type PublicationCounts,
  publicationAggregate,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import { SCHEDULE_SPAN } from '../../shared/catalog/schedule';
import { existingReferences } from './references';
import { defineResource } from './resource';
import { type SafeHtml, sanitise } from './sanitise';
import { variantNames } from './variant-names';

/** Checks the length before and after sanitising, because sanitised HTML can be longer: `&` becomes `&amp;`. */
const description_html = newPublicationBody.shape.description_html
  .unwrap()
  .transform((html): SafeHtml | null => (html === null ? null : sanitise(html) || null))
  .refine((html) => html === null || fits(html, HTML_MAX), {
    params: { condition: 'field_too_long' },
    error: 'at most 50,000 characters after sanitising',
  })
  .optional();

/** The request bodies, with sanitised HTML. */
export const newPublicationSchema = newPublicationBody.extend({ description_html });
export const publicationPatchSchema = publicationPatchBody.extend({ description_html });

export type NewPublication = z.output<typeof newPublicationSchema>;
export type PublicationPatch = z.output<typeof publicationPatchSchema>;

const NO_COUNTS: PublicationCounts = { view_count: 0 };

/** The writes of publications. */
export const publications = defineResource({
  aggregate: publicationAggregate,
  fields: publicationFields,
  derived_kind: 'publication',
  handle_from: 'title',
  body: newPublicationSchema,
  patch: publicationPatchSchema,
  media: { max: PUBLICATION_MEDIA_MAX, patchOf: (media_ids) => ({ media_ids }) },
  operations: {
    create: writes.createPublication,
    update: writes.updatePublication,
    put: writes.putPublication,
    delete: writes.deletePublication,
    deleteExternal: writes.deletePublicationByExternalId,
    restore: writes.restorePublication,
  },
  namesOfParts: (store_id, { variants = [] }: Pick<PublicationPatch, 'variants'>, before) =>
    variantNames(store_id, variants, before),
  spans: [['sale_from', 'sale_to'], SCHEDULE_SPAN],
  count: async (version, id) => {
    // There may be no document yet, and the body of a placeholder is empty.
    const stored = await version.get('publications', id);
    return stored?.document?.body.stats ?? NO_COUNTS;
  },
  counts_of_new: NO_COUNTS,
  present: async (deps, environment, publication, counts) =>
    publicationResource(publication, await existingReferences(deps, environment, publication), counts),
});

export const {
  create: createPublication,
  update: updatePublication,
  put: putPublication,
  remove: deletePublication,
  find: findPublication,
} = publications;
