import {
  type BodyOf,
  CatalogApiError,
  type Change,
  type Listing,
  type Publication,
  type Store,
} from '../../../shared/client';
import { shortenText } from '../../../shared/kernel/text';
import {
  changesIn,
  type FormField,
  ifMatchOf,
  type Notice,
  OF_VARIANTS,
  PRODUCT_FIELDS,
  shownName,
  textOf,
  VARIANT_FIELDS,
} from './fields';
import type { PageAnswer } from './frame';
import { LISTINGS_MAX } from './listings';
import { Button, Fields, Input, minuteOf, WideTable } from './parts';
import { Pictures, picturesOf } from './pictures';
import { HOME, type Page, showAgain, take, unlessInvalid, type Visit } from './visit';

/** How many changes of a product its history shows. */
const HISTORY_LENGTH = 20;
/** How many characters of a value the history shows. */
const VALUE_LENGTH = 60;

// --- The editor ---

export async function editorPage({ client, store, id, form }: Visit, notice?: Notice): Promise<PageAnswer> {
  const sent = notice && { notice, form: changedIn(form) };
  const listings = await take(
    client.listings.list({ visibility: 'all', sort: 'name', order: 'asc' }),
    LISTINGS_MAX,
  );
  if (id === '') {
    const body = (
      <>
        <h1>New product</h1>
        <Editor listings={listings} form={formOfNew(store)} {...sent} />
      </>
    );
    return { title: 'New product', body };
  }
  const [product, history] = await Promise.all([
    client.publications.get(id, { visibility: 'all', expand: ['media', 'variants'] }, { consistent: true }),
    client.publications.history(id, { limit: HISTORY_LENGTH }).page(),
  ]);
  const etag = client.answerOf(product)?.etag;
  const pictures = await picturesOf(client, product);
  const { listing_id } = product;
  if (listing_id && !listings.some((listing) => listing.id === listing_id))
    listings.push(await client.listings.get(listing_id, { visibility: 'all' }));
  const body = (
    <>
      <h1>{product.title}</h1>
      <Pictures id={id} etag={etag} pictures={pictures} />
      <Editor product={product} etag={etag} listings={listings} {...sent} />
      <History product={product} history={history.data} />
      <Button action={`/console/product/${product.id}/delete`} label="Delete this product" />
    </>
  );
  return { title: product.title, body };
}

/** Fills in the currency of the store, which the user may replace. */
const formOfNew = ({ currency = '' }: Store) => new URLSearchParams({ price_currency: currency });

/** Returns the fields of a form that the user has changed. The page shows the present values of the other fields. */
function changedIn(form: URLSearchParams): URLSearchParams {
  const isShown = ([name, text]: [string, string]) => form.get(shownName(name)) === text;
  return new URLSearchParams([...form].filter((entry) => !isShown(entry)));
}

interface EditorProps {
  /** Undefined for a new product. */
  readonly product?: Publication;
  readonly etag?: string | undefined;
  readonly listings: readonly Listing[];
  /** The form that was sent, if it could not be saved. */
  readonly form?: URLSearchParams;
  readonly notice?: Notice;
}

function Editor({ product, etag, listings, form, notice }: EditorProps) {
  const variants = product?.variants?.data ?? [];
  const currency = product?.price_currency;
  const listing_options = listings.map(
    ({ id, path, name }) => [id, [...(path ?? []).map((each) => each.name), name].join(' › ')] as const,
  );
  const fields = PRODUCT_FIELDS.filter(
    ({ name }) => variants.length === 0 || !OF_VARIANTS.includes(name),
  ).map(
    (field): FormField =>
      field.name === 'listing_id'
        ? { ...field, options: [['', 'none'], ...listing_options] }
        : { ...field, currency },
  );
  return (
    <form method="post" class="panel">
      {etag && <input type="hidden" name="etag" value={etag} />}
      <Fields fields={fields} of={product} form={form} notice={notice} />
      {variants.length > 0 && (
        <WideTable
          columns={['Variant', ...VARIANT_FIELDS.map(({ label }) => label)]}
          rows={variants.map((variant) => {
            const variant_name = Object.values(variant.option_values).join(' / ');
            const inputs = VARIANT_FIELDS.map((field) => (
              <Input
                key={field.name}
                field={{ ...field, currency }}
                name={`variant:${variant.id}:${field.name}`}
                of={variant}
                form={form}
                notice={notice}
                label={`${field.label} of ${variant_name}`}
              />
            ));
            return [variant_name, ...inputs];
          })}
        />
      )}
      <p>
        <button type="submit">Save</button> <a href={HOME}>Back to the products</a>
      </p>
    </form>
  );
}

const History = ({ product, history }: { product: Publication; history: readonly Change[] }) => (
  <section>
    <h2>History</h2>
    <WideTable
      columns={['When', 'Who', 'What', { label: 'Return', is_hidden: true }]}
      rows={history.map((change, index) => [
        <time key="when" dateTime={change.occurred_at}>
          {minuteOf(change.occurred_at)}
        </time>,
        change.actor.name ?? change.actor.type,
        <>
          {change.type.replace('.', ' ')}
          <ChangedFields changed={change.changed} />
        </>,
        index > 0 && !change.type.endsWith('deleted') && (
          <Button
            action={`/console/product/${product.id}/revert`}
            label="Return to this"
            name={change.occurred_at}
            values={{ revision: String(change.revision) }}
          />
        ),
      ])}
    />
  </section>
);

function ChangedFields({ changed }: Pick<Change, 'changed'>) {
  const show = (value: unknown): string => {
    const text = typeof value === 'string' ? value : value === null ? '—' : JSON.stringify(value);
    return shortenText(text, VALUE_LENGTH);
  };
  return (
    <>
      {Object.entries(changed).map(([name, { before, after }]) => (
        <div key={name} class="note">
          {name}: <del>{show(before)}</del> → <ins>{show(after)}</ins>
        </div>
      ))}
    </>
  );
}

// --- Changes ---

export const create = unlessInvalid(editorPage, async ({ client, form }) => {
  const body = changesIn(form, PRODUCT_FIELDS) as unknown as BodyOf<'createPublication'>;
  const { id } = await client.publications.create(body);
  return { location: `/console/product/${id}`, saved: 'Created.' };
});

export const save = unlessInvalid(editorPage, async (visit) => {
  const { client, id, form } = visit;
  try {
    const body = changesIn(form, PRODUCT_FIELDS);
    if (Object.keys(body).length > 0) await client.publications.update(id, body, ifMatchOf(form));
  } catch (error) {
    if (!(error instanceof CatalogApiError) || error.status !== 412) throw error;
    const product = await client.publications.get(id, { visibility: 'all' }, { consistent: true });
    const text = 'Somebody has changed this product meanwhile. Nothing was saved. Compare, and save again.';
    return showAgain(editorPage, visit, { text, is_bad: true, details: differencesIn(product, form) });
  }
  const variants = new Set([...form.keys()].flatMap((name) => /^variant:([^:]+):/.exec(name)?.[1] ?? []));
  for (const variant_id of variants) {
    const changes = changesIn(form, VARIANT_FIELDS, `variant:${variant_id}:`);
    if (Object.keys(changes).length > 0) await client.publications.updateVariant(variant_id, changes);
  }
  return { location: `/console/product/${id}`, saved: 'Saved.' };
});

/** Returns a line for each field whose value differs from the text that the page has shown. */
function differencesIn(product: Publication, form: URLSearchParams): string[] {
  return PRODUCT_FIELDS.flatMap((field) => {
    const value = (product as unknown as Record<string, unknown>)[field.name];
    const now = textOf({ ...field, currency: product.price_currency }, value);
    const shown = form.get(shownName(field.name));
    return shown === null || shown === now ? [] : `${field.label} is now: ${now.slice(0, 100) || 'empty'}`;
  });
}

export const revert: Page = async ({ client, id, form }) => {
  const { not_restored } = await client.publications.revert(id, Number(form.get('revision')));
  const rest =
    not_restored.length > 0 ? ` Not restored, because it was deleted: ${not_restored.join(', ')}.` : '';
  return { location: `/console/product/${id}`, saved: `Returned to the earlier values.${rest}` };
};

export const restore: Page = async ({ client, id }) => {
  await client.publications.restore(id);
  return { location: `/console/product/${id}`, saved: 'Restored.' };
};

export const remove: Page = async ({ client, id }) => {
  const { title } = await client.publications.get(id, { visibility: 'all' });
  await client.publications.delete(id);
  return { location: HOME, saved: `Deleted ${title}.` };
};
