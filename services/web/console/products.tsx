import { hash } from 'node:crypto';
import { formatAmount } from '../../../shared/catalog/amounts';
import type { Publication } from '../../../shared/client';
import { Pager, Picture } from '../shop/parts';
import { TEXTS } from '../shop/texts';
import { planBulk } from './bulk';
import type { Notice } from './fields';
import type { PageAnswer } from './frame';
import { Deleted, Select, Submit, WideTable } from './parts';
import { HOME, noticeOf, type Page } from './visit';

const PAGE_SIZE = 50;
const BULK_PATH = '/console/bulk';

const VISIBILITIES = [
  ['all', 'Public and private'],
  ['public', 'public'],
  ['private', 'private'],
  ['deleted', 'deleted'],
] as const;
const STOCKS = [
  ['', 'Any stock'],
  ['true', 'in stock'],
  ['false', 'sold out'],
] as const;

const productsText = (count: number): string => (count === 1 ? '1 product' : `${count} products`);

// --- The list ---

export const productsPage: Page = async ({ client, query }) => {
  const words = query.get('q')?.trim() ?? '';
  const page = Number(query.get('page') ?? 1);
  const [visibility] = VISIBILITIES.find(([value]) => value === query.get('visibility')) ?? VISIBILITIES[0];
  const in_stock = ['true', 'false'].find((each) => each === query.get('in_stock'));
  const parameters = {
    visibility,
    limit: PAGE_SIZE,
    expand: ['media'],
    ...(in_stock && { in_stock: in_stock === 'true' }),
    ...(Number.isSafeInteger(page) && page > 0 && { page }),
  } as const;
  const { data: products, meta } = await (words === '' || visibility === 'deleted'
    ? client.publications.list(parameters).page()
    : client.store.search(words, { ...parameters, visibility }).page());
  const { total_items, total_pages, page: shown_page } = meta.pagination;
  const body = (
    <>
      <div class="bar">
        <h1>Products</h1>
        <form>
          <input
            type="search"
            name="q"
            value={query.get('q') ?? ''}
            placeholder="Search"
            aria-label="Search"
          />
          <Select
            name="visibility"
            aria-label="Visibility"
            options={VISIBILITIES}
            selected={query.get('visibility')}
          />
          <Select name="in_stock" aria-label="Stock" options={STOCKS} selected={in_stock} />
          <button type="submit">Show</button>
        </form>
        <a href="/console/product/new">New product</a>
      </div>
      <p class="note">{productsText(total_items)}</p>
      {products.length === 0 && <p class="empty">Nothing found.</p>}
      {visibility === 'deleted' && <Deleted path="/console/product" items={products} />}
      {products.length > 0 && visibility !== 'deleted' && (
        <form method="post" action={BULK_PATH}>
          <ProductTable products={products} />
          <div class="panel">
            <h2>Change the selected products</h2>
            <BulkFields form={new URLSearchParams()} notice={undefined} />
            <Submit label="Preview" />
          </div>
        </form>
      )}
      <Pager t={TEXTS.en} page={shown_page} total_pages={total_pages} query={query} />
    </>
  );
  return { title: 'Products', body };
};

const ProductTable = ({ products }: { products: readonly Publication[] }) => (
  <WideTable
    columns={[
      { label: 'Select', is_hidden: true },
      { label: 'Picture', is_hidden: true },
      'Product',
      'Visibility',
      { label: 'Stock', is_number: true },
      { label: 'Price', is_number: true },
    ]}
    rows={products.map(({ id, title, media, variant_count, ...product }) => [
      <input key="select" type="checkbox" name="id" value={id} aria-label={`Select ${title}`} />,
      media?.data[0] && <Picture media={media.data[0]} alt="" sizes="3rem" />,
      <>
        <a href={`/console/product/${id}`}>{title}</a>
        {variant_count ? <div class="note">{variant_count} variants</div> : null}
      </>,
      product.visibility,
      product.quantity_available ?? '—',
      formatAmount('en', product.price_amount, product.price_currency),
    ])}
  />
);

// --- Bulk edit ---

/** Previews a bulk edit, and does it if the form has the same plan: nothing has changed meanwhile. */
export const bulkPage: Page = async ({ client, form }) => {
  if (form.getAll('id').length === 0) return { location: HOME, saved: 'Select products first.' };
  let notice: Notice | undefined;
  const planned = await planBulk(client, form).catch((error: unknown) => {
    notice = noticeOf(error);
    return [];
  });
  const plan = hash('sha256', JSON.stringify(planned), 'base64url');
  const sent = form.get('plan');
  const preview = (reason: Notice | undefined): PageAnswer => ({
    title: 'Preview',
    notice: reason,
    body: (
      <>
        <h1>Preview</h1>
        <form class="panel" method="post" action={BULK_PATH}>
          {form.getAll('id').map((id) => (
            <input key={id} type="hidden" name="id" value={id} />
          ))}
          <BulkFields form={form} notice={reason} />
          <p>
            <button type="submit" class="quiet">
              Preview again
            </button>
          </p>
        </form>
        {planned.length === 0 && <p class="empty">Nothing changes.</p>}
        {planned.length > 0 && (
          <form method="post" action={BULK_PATH}>
            <input type="hidden" name="plan" value={plan} />
            {[...form].map(([name, value]) =>
              name === 'plan' ? null : <input key={name + value} type="hidden" name={name} value={value} />,
            )}
            <WideTable
              columns={[
                'Product',
                'Field',
                { label: 'Before', is_number: true },
                { label: 'After', is_number: true },
              ]}
              rows={planned.flatMap(({ title, rows }) =>
                rows.map(({ what, before, after }) => [
                  title,
                  what,
                  <del key="before">{before}</del>,
                  <ins key="after">{after}</ins>,
                ]),
              )}
            />
            <p>
              <button type="submit">{`Change ${productsText(planned.length)}`}</button>{' '}
              <a href={HOME}>Cancel</a>
            </p>
          </form>
        )}
      </>
    ),
  });
  if (sent === null || notice || planned.length === 0) return preview(notice);
  if (sent !== plan)
    return preview({ text: 'Somebody has changed these products meanwhile. Look again.', is_bad: true });
  const { updated, failed, items } = await client.publications.batch(
    { items: planned.map(({ item }) => item) },
    { on_error: 'skip_failed' },
  );
  if (failed === 0) return { location: HOME, saved: `${updated} changed.` };
  const details = items.flatMap(({ index, error }) =>
    error ? `${planned[index]!.title}: ${error.message}` : [],
  );
  return preview({ text: `${updated} changed, ${failed} not.`, is_bad: true, details });
};

function BulkFields({ form, notice }: { form: URLSearchParams; notice: Notice | undefined }) {
  const input = (name: string, label: string, hint: string) => (
    <label>
      <span>
        {label} <small>{hint}</small>
      </span>
      <input
        name={name}
        value={form.get(name) ?? ''}
        aria-invalid={notice?.fields?.includes(name) || undefined}
      />
    </label>
  );
  return (
    <div class="fields">
      {input('price', 'Price', '12.50, +10% or -5%')}
      {input('stock', 'Stock', '40, +5 or -2')}
      <label>
        <span>Visibility</span>
        <Select
          name="visibility"
          options={[['', 'as it is'], 'public', 'private']}
          selected={form.get('visibility')}
        />
      </label>
    </div>
  );
}
