import type { Store } from '../../../shared/client';
import { changesIn, type FormField, ifMatchOf } from './fields';
import { Fields, Submit } from './parts';
import { type Page, unlessInvalid } from './visit';

/** The fields of a store. A dot leads to a field of an object. */
const FIELDS: readonly FormField[] = [
  { name: 'name', label: 'Name', kind: 'line' },
  { name: 'ruc', label: 'Taxpayer number', kind: 'line' },
  { name: 'currency', label: 'Currency', kind: 'line', hint: 'of new products, such as PEN' },
  {
    name: 'new_review_status',
    label: 'New reviews',
    kind: 'choice',
    options: [
      ['published', 'are published at once'],
      ['pending', 'wait for a decision'],
    ],
  },
  { name: 'description', label: 'Description', kind: 'text', is_wide: true },
  { name: 'contact.phone', label: 'Phone', kind: 'line' },
  { name: 'contact.email', label: 'E-mail', kind: 'line' },
  { name: 'contact.address', label: 'Address', kind: 'line' },
  {
    name: 'businessHours',
    label: 'Opening hours',
    kind: 'hours',
    is_wide: true,
    hint: 'a line each, such as Monday to Friday: 9:00–18:00',
  },
  { name: 'policies.shipping', label: 'Shipping', kind: 'text', is_wide: true },
  { name: 'policies.returns', label: 'Returns', kind: 'text', is_wide: true },
  { name: 'policies.satisfaction', label: 'Satisfaction', kind: 'text', is_wide: true },
];

/** Fills in the default of the service: new reviews are published. */
const withDefaults = (store: Store) => ({
  ...store,
  new_review_status: store.new_review_status ?? 'published',
});

export const page: Page = async ({ client, store, form }, notice) => ({
  title: 'Store',
  body: (
    <>
      <h1>Store</h1>
      <form class="panel" method="post">
        <input type="hidden" name="etag" value={client.answerOf(store)?.etag} />
        <Fields {...{ form, notice }} fields={FIELDS} of={withDefaults(store)} />
        <Submit label="Save" />
      </form>
    </>
  ),
});

export const save = unlessInvalid(page, async ({ client, store, form }) => {
  const before = store as unknown as Readonly<Record<string, unknown>>;
  const body: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(changesIn(form, FIELDS))) {
    const [name = '', part] = path.split('.');
    body[name] =
      part === undefined ? value : withPart((body[name] ?? before[name]) as object | undefined, part, value);
  }
  await client.store.update(body, ifMatchOf(form));
  return { location: '/console/store', saved: 'Saved.' };
});

/** An object of the interface is replaced as a whole, and has no part that is null. */
const withPart = (object: object | undefined, part: string, value: unknown): object =>
  Object.fromEntries(Object.entries({ ...object, [part]: value }).filter(([, each]) => each !== null));
