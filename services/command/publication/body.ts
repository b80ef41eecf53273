import type { z } from 'zod';
import { newPublicationBody, publicationPatchBody } from '../../../shared/api/requests/writes';
import { fits } from '../../../shared/catalog/input-rules';
import { HTML_MAX } from '../../../shared/catalog/publication/fields';
import { type SafeHtml, sanitise } from './sanitise';

/** The limit is on what is sent and on what is kept, which can be longer: `&` becomes `&amp;`. */
const description_html = newPublicationBody.shape.description_html
  .unwrap()
  .transform((html): SafeHtml | null => (html === null ? null : sanitise(html) || null))
  .refine((html) => html === null || fits(html, HTML_MAX), {
    params: { condition: 'field_too_long' },
    error: 'at most 50,000 characters, sanitised',
  })
  .optional();

/** The bodies of the interface, with the HTML made safe. */
export const newPublicationSchema = newPublicationBody.extend({ description_html });
export const publicationPatchSchema = publicationPatchBody.extend({ description_html });

export type NewPublication = z.output<typeof newPublicationSchema>;
export type PublicationPatch = z.output<typeof publicationPatchSchema>;
