import { z } from 'zod';
import { field } from './fields';
import { LABEL_MAX, lineField, nullIfEmpty } from './input-rules';

const seo = {
  title: { description: 'Title for search engines.', example: 'Chanchamayo coffee, whole bean' },
  description: { description: 'Description for search engines.', example: 'Grown at 1,400 m.' },
};
const seoShape = { title: z.string().meta(seo.title), description: z.string().meta(seo.description) };

/** Returns the field `seo` of a resource, whose changes are events of type `event`. `name` is what a page shows as its title. */
export const seoField = <const Event extends string>(event: Event, name: string) =>
  field(z.object(seoShape).partial().nullable(), {
    event,
    input: z
      .strictObject({
        title: lineField(LABEL_MAX).meta(seo.title),
        description: lineField(1_000).meta(seo.description),
      })
      .partial()
      .nullable()
      .transform(nullIfEmpty),
    answer: z.strictObject(seoShape).partial(),
    initial: null,
    added: true,
    doc: `Texts for search engines, if they differ from ${name} and the description.`,
    example: { title: seo.title.example, description: seo.description.example },
  });
