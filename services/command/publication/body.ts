import { z } from 'zod';
import { amountSchema, currencySchema } from '../../../shared/contracts/money';
import { visibilitySchema } from '../../../shared/contracts/vocabulary';
import { fits, idField, idsField, lineField, textField } from '../fields';
import { type SafeHtml, sanitise } from './sanitise';

const MEDIA_MAX = 50;
const HTML_MAX = 50_000;

const required = {
  title: lineField(200),
  price_currency: currencySchema,
  price_amount: amountSchema,
};

/** Null clears (decisions §6); where a publication always has a value, null is refused like a missing one. */
const optional = {
  description: textField(10_000)
    .nullable()
    .transform((text) => text ?? ''),
  /** The limit is on what is sent and on what is kept, which can be longer: `&` becomes `&amp;`. */
  description_html: textField(HTML_MAX)
    .nullable()
    .transform((html): SafeHtml | null => (html === null ? null : sanitise(html) || null))
    .refine((html) => html === null || fits(html, HTML_MAX), {
      params: { condition: 'field_too_long' },
      error: 'at most 50,000 characters, sanitised',
    }),
  visibility: visibilitySchema,
  price_active: z.boolean(),
  free_shipping: z.boolean().nullable(),
  quantity_available: z.int().min(0).nullable(),
  featured_position: z.int().min(1).max(10_000).nullable(),
  listing_id: idField.nullable(),
  media_ids: idsField(MEDIA_MAX)
    .nullable()
    .transform((ids) => ids ?? []),
};

/** `POST /api/publication`; `store_id` null is as good as none. */
export const newPublicationSchema = z.strictObject({
  ...required,
  ...z.object(optional).partial().shape,
  store_id: idField.nullish(),
});

/** `PATCH /api/publication/:id`: any subset. `store_id` may be sent back, never changed. */
export const publicationPatchSchema = z.strictObject({
  ...z.object({ ...required, ...optional }).partial().shape,
  store_id: idField.optional(),
});

export type NewPublication = z.output<typeof newPublicationSchema>;
export type PublicationPatch = z.output<typeof publicationPatchSchema>;
