import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newPublicationBody, publicationPatchBody } from '../../shared/api/requests/writes';
import { fits } from '../../shared/catalog/input-rules';
import { priceRulesOf } from '../../shared/catalog/publication/derived-prices';
import { HTML_MAX, PUBLICATION_MEDIA_MAX, publicationFields } from '../../shared/catalog/publication/fields';
import {
  type PublicationCounts,
  publicationAggregate,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import { SCHEDULE_SPAN } from '../../shared/catalog/schedule';
import type { Translations } from '../../shared/catalog/translations';
import { existingReferences } from './references';
import { defineResource } from './resource';
import { type SafeHtml, sanitise } from './sanitise';
import { variantNames } from './variant-names';

/** Checks the length before and after sanitising, because sanitised HTML can be longer: `&` becomes `&amp;`. */
const TOO_LONG = {
  params: { condition: 'field_too_long' },
  error: 'at most 50,000 characters after sanitising',
} as const;
const fitsWhenSafe = (html: SafeHtml | null): boolean => html === null || fits(html, HTML_MAX);
const safeHtml = (html: string | null): SafeHtml | null => (html === null ? null : sanitise(html) || null);

const description_html = newPublicationBody.shape.description_html
  .unwrap()
  .transform(safeHtml)
  .refine(fitsWhenSafe, TOO_LONG)
  .optional();

const translations = newPublicationBody.shape.translations
  .unwrap()
  .transform((by_locale, context): Translations => {
    const safe = Object.entries(by_locale ?? {}).map(([locale, texts]) => {
      if (texts?.description_html === undefined) return [locale, texts];
      const html = safeHtml(texts.description_html as string | null);
      if (!fitsWhenSafe(html))
        context.addIssue({
          code: 'custom',
          path: [locale, 'description_html'],
          message: TOO_LONG.error,
          params: TOO_LONG.params,
        });
      return [locale, { ...texts, description_html: html }];
    });
    return by_locale && (Object.fromEntries(safe) as Translations);
  })
  .optional();

/** The request bodies, with sanitised HTML. */
export const newPublicationSchema = newPublicationBody.extend({ description_html, translations });
export const publicationPatchSchema = publicationPatchBody.extend({ description_html, translations });

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
  ownOf: (store) => (store.derives ? { price_rules: priceRulesOf(store) } : undefined),
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
