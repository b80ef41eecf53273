/** One edit of a product file: `added` is put before the first line that contains `before`. */
export interface Edit {
  readonly file: string;
  readonly before: string;
  readonly added: string;
}

/** All that a developer writes to give publications a `brand` that lists can be filtered by. */
export const EDITS = {
  'the event': {
    file: 'shared/catalog/publication/fields.ts',
    before: '] as const;',
    added: "  'PublicationBranded',\n",
  },
  'the field': {
    file: 'shared/catalog/publication/fields.ts',
    before: '  description: field(',
    added: `  brand: field(z.string().nullable(), {
    event: 'PublicationBranded',
    input: lineField(120).nullable(),
    initial: null,
    added: true,
    doc: 'Who makes it.',
    example: 'Acme',
  }),
`,
  },
  'the key of the document': {
    file: 'shared/catalog/publication/document.ts',
    before: "  version: 'integer',",
    added: "  brand: 'text',\n",
  },
  'the value of the key': {
    file: 'shared/catalog/publication/document.ts',
    before: '    version: publication.version,',
    added: '    brand: publication.brand,\n',
  },
  'the filter': {
    file: 'shared/api/requests/reads.ts',
    before: '  featured: flag.describe(',
    added: "  brand: z.string().optional().describe('Only those of this brand.'),\n",
  },
} satisfies Record<string, Edit>;

/** What the client's types know of the field. Compiled beside it, where they have it. */
export const CLIENT_TYPES = `import type { BodyOf, DataOf, QueryOf } from './endpoints';

const created: BodyOf<'createPublication'> = { title: 'Pot', price_currency: 'PEN', price_amount: 1, brand: 'Acme' };
const cleared: BodyOf<'updatePublication'> = { brand: null };
const listed: QueryOf<'listPublications'> = { brand: 'Acme' };
const brandOf = (publication: DataOf<'getPublication'>): string | undefined => publication.brand;
// @ts-expect-error: it is a text
const wrong: BodyOf<'updatePublication'> = { brand: 7 };

export const known = [created, cleared, listed, brandOf, wrong];
`;
