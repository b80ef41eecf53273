import { z } from 'zod';
import { field } from '../fields';
import { lineField } from '../input-rules';

export const ALT_MAX = 500;

const coordinate = z.number().min(0).max(1);
const point = z.strictObject({
  x: coordinate.describe('Part of the width, from the left.'),
  y: coordinate.describe('Part of the height, from the top.'),
});

/** The fields of a media that can be changed (docs/interface/media.md). */
export const mediaFields = {
  alt: field(z.string().nullable(), {
    event: 'MediaDescribed',
    input: lineField(ALT_MAX).nullable(),
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
} satisfies Record<string, { readonly event: 'MediaDescribed' }>;
