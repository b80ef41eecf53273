import { z } from 'zod';
import { field } from '../fields';
import { lineField } from '../input-rules';
import { translationsField } from '../translations';

export const ALT_MAX = 500;

/** The events that change fields of a media. */
export const MEDIA_CHANGES = ['MediaDescribed', 'MediaTranslated'] as const;

const alt = lineField(ALT_MAX);
/** The texts that can be translated. */
export const mediaTexts = { alt };
const coordinate = z.number().min(0).max(1);
const point = z.strictObject({
  x: coordinate.describe('Part of the width, from the left.'),
  y: coordinate.describe('Part of the height, from the top.'),
});

/** The fields of a media that can be changed (docs/interface/media.md). */
export const mediaFields = {
  alt: field(z.string().nullable(), {
    event: 'MediaDescribed',
    input: alt.nullable(),
    initial: null,
    doc: 'Alternative text for people who cannot see the picture.',
    example: 'A bag of coffee',
  }),
  focal_point: field(z.object({ x: z.number(), y: z.number() }).nullable(), {
    event: 'MediaDescribed',
    input: point.nullable(),
    answer: point,
    initial: null,
    doc: 'The point that stays visible when the picture is cropped, from 0 to 1 of its width and height.',
    example: { x: 0.5, y: 0.25 },
  }),
  translations: translationsField('MediaTranslated', mediaTexts, { alt: 'Eine Tüte Kaffee' }),
} satisfies Record<string, { readonly event: (typeof MEDIA_CHANGES)[number] }>;
