import { field, objectOfTexts } from './fields';
import { LABEL_MAX, lineField, nullIfEmpty } from './input-rules';

const title = {
  input: lineField(LABEL_MAX),
  description: 'Title for search engines.',
  example: 'Chanchamayo coffee, whole bean',
};
const description = {
  input: lineField(1_000),
  description: 'Description for search engines.',
  example: 'Grown at 1,400 m.',
};
const seo = objectOfTexts({ title, description });

/** The rule of these texts in `translations`. */
export const seoTranslation = seo.translation;

/** Returns the field `seo` of a resource, whose changes are events of type `event`. `name` is what a page shows as its title. */
export const seoField = <const Event extends string>(event: Event, name: string) =>
  field(seo.stored.partial().nullable(), {
    event,
    input: seo.input.partial().nullable().transform(nullIfEmpty),
    answer: seo.answer.partial(),
    initial: null,
    added: true,
    doc: `Texts for search engines, if they differ from ${name} and the description.`,
    example: { title: title.example, description: description.example },
  });
