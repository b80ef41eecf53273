/** One edit of a product file: `added` is inserted before the first line that contains `before`. */
export interface Edit {
  readonly file: string;
  readonly before: string;
  readonly added: string;
}

/**
 * All product code that adds a field to publications, with a filter. The same edits as in docs/howto/add-a-field.md,
 * under a name that no real field will have.
 */
export const EDITS = {
  'the event': {
    file: 'shared/catalog/publication/fields.ts',
    before: '] as const;',
    added: "  'PublicationTrialFieldChanged',\n",
  },
  'the field': {
    file: 'shared/catalog/publication/fields.ts',
    before: '  description: field(',
    added: `  trial_field: field(z.string().nullable(), {
    event: 'PublicationTrialFieldChanged',
    input: lineField(120).nullable(),
    initial: null,
    added: true,
    doc: 'A field that only this test adds.',
    example: 'Acme',
  }),
`,
  },
  'the key of the document': {
    file: 'shared/catalog/publication/document.ts',
    before: "  version: 'integer',",
    added: "  trial_field: 'text',\n",
  },
  'the value of the key': {
    file: 'shared/catalog/publication/document.ts',
    before: '    version: publication.version,',
    added: '    trial_field: publication.trial_field,\n',
  },
  'the filter': {
    file: 'shared/api/requests/reads.ts',
    before: '  featured: flag.describe(',
    added:
      "  trial_field: z.string().optional().meta({ description: 'Only those with this value.', example: 'Acme' }),\n",
  },
} satisfies Record<string, Edit>;

/** Uses the field through the types of the client, after `npm run generate`. It is compiled in the folder of the client. */
export const CLIENT_TYPES = `import type { BodyOf, DataOf, QueryOf } from './operations';

const pot = { title: 'Pot', price_currency: 'PEN', price_amount: 1 };
const created: BodyOf<'createPublication'> = { ...pot, trial_field: 'Acme' };
const cleared: BodyOf<'updatePublication'> = { trial_field: null };
const listed: QueryOf<'listPublications'> = { trial_field: 'Acme' };
const trialFieldOf = (publication: DataOf<'getPublication'>): string | undefined => publication.trial_field;
// @ts-expect-error: the field is a text
const wrong: BodyOf<'updatePublication'> = { trial_field: 7 };

export const known = [created, cleared, listed, trialFieldOf, wrong];
`;
