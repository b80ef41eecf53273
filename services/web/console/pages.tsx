import type { ComponentChildren } from 'preact';
import { formatAmount } from '../../../shared/catalog/amounts';
import type { Change, Delivery, Listing, Publication, Review, Store, Webhook } from '../../../shared/client';
import { shortenText } from '../../../shared/kernel/text';
import { Pager, Picture } from '../shop/parts';
import { TEXTS } from '../shop/texts';
import type { Planned } from './bulk';
import { type FormField, OF_VARIANTS, PRODUCT_FIELDS, shownName, textOf, VARIANT_FIELDS } from './fields';

/** What a page says about the form that was sent. `fields` are the names of the invalid fields. */
export interface Notice {
  readonly text: string;
  readonly is_bad?: boolean;
  readonly details?: readonly string[];
  readonly fields?: readonly string[];
}

/** What the header of a page shows. */
export interface Site {
  readonly name: string;
  readonly home: string;
  readonly sign_out: string;
  /** None before the sign-in. */
  readonly sections: readonly (readonly [path: string, label: string])[];
}

interface LayoutProps {
  readonly title: string;
  readonly style: string;
  readonly site: Site;
  readonly notice?: Notice | undefined;
  readonly children: ComponentChildren;
}

const SECTIONS = [
  ['/console/products', 'Products'],
  ['/console/listings', 'Listings'],
  ['/console/imports', 'Imports'],
  ['/console/reviews', 'Reviews'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/keys', 'Keys'],
  ['/console/store', 'Store'],
] as const;

/** The site of a merchant. `store` is undefined before the sign-in. */
export const siteOf = (store: Store | undefined): Site => ({
  name: store?.name ?? 'Catalog',
  home: '/console',
  sign_out: '/console/sign-out',
  sections: store ? SECTIONS : [],
});

export function Layout({ title, style, site, notice, children }: LayoutProps) {
  const { name, home, sign_out, sections } = site;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${name} console`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style} />
      </head>
      <body>
        <a class="skip" href="#main">
          To the content
        </a>
        <header>
          <div class="wrap">
            <a class="brand" href={home}>
              {name}
            </a>
            {sections.length > 0 && (
              <nav aria-label="Console">
                <ul>
                  {sections.map(([path, label]) => (
                    <li key={path}>
                      <a href={path} aria-current={title === label ? 'page' : undefined}>
                        {label}
                      </a>
                    </li>
                  ))}
                </ul>
              </nav>
            )}
            {sections.length > 0 && <Button action={sign_out} label="Sign out" />}
          </div>
        </header>
        <main id="main" class="wrap">
          {notice && (
            <div class={notice.is_bad ? 'message bad' : 'message'} role={notice.is_bad ? 'alert' : 'status'}>
              <p>{notice.text}</p>
              {notice.details && notice.details.length > 0 && (
                <ul>
                  {notice.details.map((line) => (
                    <li key={line}>{line}</li>
                  ))}
                </ul>
              )}
            </div>
          )}
          {children}
        </main>
      </body>
    </html>
  );
}

/** A button that sends a form with these values. */
export function Button({ action, label, values = {}, name, is_main = false }: ButtonProps) {
  return (
    <form method="post" action={action}>
      {Object.entries(values).map(([key, value]) => (
        <input key={key} type="hidden" name={key} value={value} />
      ))}
      <button type="submit" class={is_main ? undefined : 'quiet'} aria-label={name && `${label}: ${name}`}>
        {label}
      </button>
    </form>
  );
}

interface ButtonProps {
  readonly action: string;
  readonly label: string;
  readonly values?: Readonly<Record<string, string>>;
  /** What the button is about, for screen readers, if there are several with this label. */
  readonly name?: string;
  /** Whether it is the main action of the page. */
  readonly is_main?: boolean;
}

type SignInText = 'heading' | 'note' | 'label' | 'name' | 'action';

export const SignIn = ({ heading, note, label, name, action }: Record<SignInText, string>) => (
  <form class="panel narrow" method="post" action={action}>
    <h1>{heading}</h1>
    <p class="note">{note}</p>
    <label>
      <span>{label}</span>
      <input name={name} type="password" autocomplete="current-password" required />
    </label>
    <p>
      <button type="submit">Sign in</button>
    </p>
  </form>
);

export function Products({ products, page, total, total_pages, query, notice }: ProductsProps) {
  const t = TEXTS.en;
  const is_deleted = query.get('visibility') === 'deleted';
  return (
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
          <select name="visibility" aria-label="Visibility">
            {(['all', 'public', 'private', 'deleted'] as const).map((value) => (
              <option key={value} value={value} selected={query.get('visibility') === value}>
                {value === 'all' ? 'Public and private' : value}
              </option>
            ))}
          </select>
          <select name="in_stock" aria-label="Stock">
            <option value="">Any stock</option>
            {(['true', 'false'] as const).map((value) => (
              <option key={value} value={value} selected={query.get('in_stock') === value}>
                {value === 'true' ? 'in stock' : 'sold out'}
              </option>
            ))}
          </select>
          <button type="submit">Show</button>
        </form>
        <a href="/console/product/new">New product</a>
      </div>
      <p class="note">{total === 1 ? '1 product' : `${total} products`}</p>
      {products.length === 0 && <p class="empty">Nothing found.</p>}
      {is_deleted && <Deleted path="/console/product" items={products} />}
      {products.length > 0 && !is_deleted && (
        <form method="post" action="/console/bulk">
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>
                    <span class="skip">Select</span>
                  </th>
                  <th>
                    <span class="skip">Picture</span>
                  </th>
                  <th>Product</th>
                  <th>Visibility</th>
                  <th class="number">Stock</th>
                  <th class="number">Price</th>
                </tr>
              </thead>
              <tbody>
                {products.map((product) => (
                  <tr key={product.id}>
                    <td>
                      <input
                        type="checkbox"
                        name="id"
                        value={product.id}
                        aria-label={`Select ${product.title}`}
                      />
                    </td>
                    <td>
                      {product.media?.data[0] && (
                        <Picture media={product.media.data[0]} alt="" sizes="3rem" />
                      )}
                    </td>
                    <td>
                      <a href={`/console/product/${product.id}`}>{product.title}</a>
                      {product.variant_count ? (
                        <div class="note">{product.variant_count} variants</div>
                      ) : null}
                    </td>
                    <td>{product.visibility}</td>
                    <td class="number">{product.quantity_available ?? '—'}</td>
                    <td class="number">{formatAmount('en', product.price_amount, product.price_currency)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <div class="panel">
            <h2>Change the selected products</h2>
            <BulkFields form={new URLSearchParams()} notice={notice} />
            <p>
              <button type="submit">Preview</button>
            </p>
          </div>
        </form>
      )}
      <Pager t={t} page={page} total_pages={total_pages} query={query} />
    </>
  );
}

interface DeletedProps {
  /** The start of the addresses of the items. */
  readonly path: string;
  readonly items: readonly { readonly id: string; readonly title: string; readonly deleted_at?: string }[];
}

/** Deleted items, with buttons that restore them. */
export const Deleted = ({ path, items }: DeletedProps) => (
  <table>
    <tbody>
      {items.map(({ id, title, deleted_at }) => (
        <tr key={id}>
          <td>{title}</td>
          <td>{`deleted ${deleted_at?.slice(0, 16).replace('T', ' ')}`}</td>
          <td>
            <Button action={`${path}/${id}/restore`} label="Restore" name={title} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

interface ProductsProps {
  readonly products: readonly Publication[];
  readonly page: number;
  readonly total: number;
  readonly total_pages: number;
  readonly query: URLSearchParams;
  readonly notice?: Notice | undefined;
}

function BulkFields({ form, notice }: { form: URLSearchParams; notice: Notice | undefined }) {
  const isInvalid = (name: string) => notice?.fields?.includes(name) || undefined;
  return (
    <div class="fields">
      <label>
        <span>
          Price <small>12.50, +10% or -5%</small>
        </span>
        <input name="price" value={form.get('price') ?? ''} aria-invalid={isInvalid('price')} />
      </label>
      <label>
        <span>
          Stock <small>40, +5 or -2</small>
        </span>
        <input name="stock" value={form.get('stock') ?? ''} aria-invalid={isInvalid('stock')} />
      </label>
      <label>
        <span>Visibility</span>
        <select name="visibility">
          {['', 'public', 'private'].map((value) => (
            <option key={value} value={value} selected={form.get('visibility') === value}>
              {value || 'as it is'}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Shows what a bulk edit changes before it does. `plan` is sent back, so that a later change is noticed. */
export function BulkPreview({ form, planned, plan, notice }: BulkPreviewProps) {
  return (
    <>
      <h1>Preview</h1>
      <form class="panel" method="post" action="/console/bulk">
        {form.getAll('id').map((id) => (
          <input key={id} type="hidden" name="id" value={id} />
        ))}
        <BulkFields form={form} notice={notice} />
        <p>
          <button type="submit" class="quiet">
            Preview again
          </button>
        </p>
      </form>
      {planned.length === 0 && <p class="empty">Nothing changes.</p>}
      {planned.length > 0 && (
        <form method="post" action="/console/bulk">
          <input type="hidden" name="plan" value={plan} />
          {[...form].map(([name, value]) =>
            name === 'plan' ? null : <input key={name + value} type="hidden" name={name} value={value} />,
          )}
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>Product</th>
                  <th>Field</th>
                  <th class="number">Before</th>
                  <th class="number">After</th>
                </tr>
              </thead>
              <tbody>
                {planned.flatMap(({ title, rows }) =>
                  rows.map(({ what, before, after }) => (
                    <tr key={title + what}>
                      <td>{title}</td>
                      <td>{what}</td>
                      <td class="number">
                        <del>{before}</del>
                      </td>
                      <td class="number">
                        <ins>{after}</ins>
                      </td>
                    </tr>
                  )),
                )}
              </tbody>
            </table>
          </div>
          <p>
            <button type="submit">{`Change ${planned.length === 1 ? '1 product' : `${planned.length} products`}`}</button>{' '}
            <a href="/console/products">Cancel</a>
          </p>
        </form>
      )}
    </>
  );
}

interface BulkPreviewProps {
  readonly form: URLSearchParams;
  readonly planned: readonly Planned[];
  readonly plan: string;
  readonly notice?: Notice | undefined;
}

interface FieldProps {
  readonly field: FormField;
  /** The name in the form. */
  readonly name: string;
  readonly value: unknown;
  /** What was sent, if the form is shown again. */
  readonly form: URLSearchParams | undefined;
  readonly notice: Notice | undefined;
  /** The label of a field without one of its own. */
  readonly label?: string;
}

function Input({ field, name, value, form, notice, label }: FieldProps) {
  const shown = textOf(field, value);
  const text = form?.get(name) ?? shown;
  const attributes = {
    ...{ id: name, name, 'aria-label': label },
    'aria-invalid': notice?.fields?.some((each) => each === name || each.startsWith(`${name}.`)) || undefined,
  };
  return (
    <>
      <input type="hidden" name={shownName(name)} value={shown} />
      {field.kind === 'text' || field.kind === 'hours' ? (
        // HTML drops a line break right after the tag. Without this one, each save would lose the text's own first one.
        <textarea {...attributes}>{`\n${text}`}</textarea>
      ) : field.options ? (
        <select {...attributes}>
          {field.options.map(([option, text_of_option]) => (
            <option key={option} value={option} selected={option === text}>
              {text_of_option}
            </option>
          ))}
        </select>
      ) : (
        <input {...attributes} value={text} inputMode={field.kind === 'money' ? 'decimal' : undefined} />
      )}
    </>
  );
}

interface FieldsProps extends Pick<FieldProps, 'form' | 'notice'> {
  readonly fields: readonly FormField[];
  /** What has the values. Undefined for something new. */
  readonly of: object | undefined;
}

/** The inputs of some fields, with their labels and hints. */
export const Fields = ({ fields, of, form, notice }: FieldsProps) => (
  <div class="fields">
    {fields.map((field) => (
      <div key={field.name} class={field.is_wide ? 'field wide' : 'field'}>
        <label for={field.name}>
          {field.label} {field.hint && <small>{field.hint}</small>}
        </label>
        <Input {...{ field, form, notice }} name={field.name} value={valueIn(of, field.name)} />
      </div>
    ))}
  </div>
);

/** The editor of a product, which is new if it is undefined. */
export function Product({ product, etag, pictures, listings, history, form, notice }: ProductProps) {
  const variants = product?.variants?.data ?? [];
  const options = listings.map(
    ({ id, path, name }) => [id, [...(path ?? []).map((each) => each.name), name].join(' › ')] as const,
  );
  const fields = PRODUCT_FIELDS.filter(
    ({ name }) => variants.length === 0 || !OF_VARIANTS.includes(name),
  ).map((field) =>
    field.name === 'listing_id'
      ? { ...field, options: [['', 'none'] as const, ...options] }
      : { ...field, currency: product?.price_currency },
  );
  return (
    <>
      <h1>{product?.title ?? 'New product'}</h1>
      {pictures}
      <form method="post" class="panel">
        {etag && <input type="hidden" name="etag" value={etag} />}
        <Fields {...{ fields, form, notice }} of={product} />
        {variants.length > 0 && (
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>Variant</th>
                  {VARIANT_FIELDS.map(({ name, label }) => (
                    <th key={name}>{label}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {variants.map((variant) => (
                  <tr key={variant.id}>
                    <td>{Object.values(variant.option_values).join(' / ')}</td>
                    {VARIANT_FIELDS.map((field) => (
                      <td key={field.name}>
                        <Input
                          field={{ ...field, currency: product?.price_currency }}
                          name={`variant:${variant.id}:${field.name}`}
                          value={valueIn(variant, field.name)}
                          form={form}
                          notice={notice}
                          label={`${field.label} of ${Object.values(variant.option_values).join(' / ')}`}
                        />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <p>
          <button type="submit">Save</button> <a href="/console/products">Back to the products</a>
        </p>
      </form>
      {product && <History product={product} history={history} />}
      {product && <Button action={`/console/product/${product.id}/delete`} label="Delete this product" />}
    </>
  );
}

interface ProductProps {
  readonly product?: Publication | undefined;
  readonly etag?: string | undefined;
  readonly pictures?: ComponentChildren;
  readonly listings: readonly Listing[];
  readonly history: readonly Change[];
  /** What was sent, if it could not be saved. */
  readonly form?: URLSearchParams | undefined;
  readonly notice?: Notice | undefined;
}

/** Returns the value of a field such as `title` or `contact.phone`. It is undefined if the resource does not show it. */
const valueIn = (resource: object | undefined, name: string): unknown =>
  name
    .split('.')
    .reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>>)?.[part], resource);

function History({ product, history }: { product: Publication; history: readonly Change[] }) {
  return (
    <section>
      <h2>History</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>When</th>
              <th>Who</th>
              <th>What</th>
              <th>
                <span class="skip">Return</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {history.map((change, index) => (
              <tr key={change.id}>
                <td>
                  <time dateTime={change.occurred_at}>
                    {change.occurred_at.slice(0, 16).replace('T', ' ')}
                  </time>
                </td>
                <td>{change.actor.name ?? change.actor.type}</td>
                <td>
                  {change.type.replace('.', ' ')}
                  <ChangedFields changed={change.changed} />
                </td>
                <td>
                  {index > 0 && !change.type.endsWith('deleted') && (
                    <Button
                      action={`/console/product/${product.id}/revert`}
                      label="Return to this"
                      name={change.occurred_at}
                      values={{ revision: String(change.revision) }}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const SHOWN_LENGTH = 60;

function ChangedFields({ changed }: Pick<Change, 'changed'>) {
  const show = (value: unknown): string => {
    const text = typeof value === 'string' ? value : value === null ? '—' : JSON.stringify(value);
    return shortenText(text, SHOWN_LENGTH);
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

export function Reviews({ reviews, status }: { reviews: readonly Review[]; status: string }) {
  return (
    <>
      <div class="bar">
        <h1>Reviews</h1>
        <form>
          <select name="status" aria-label="Status">
            {['pending', 'published', 'rejected', 'all'].map((value) => (
              <option key={value} value={value} selected={value === status}>
                {value}
              </option>
            ))}
          </select>
          <button type="submit">Show</button>
        </form>
      </div>
      {reviews.length === 0 && <p class="empty">No reviews to show.</p>}
      <ul class="reviews">
        {reviews.map((review) => (
          <li key={review.id}>
            <span class="stars" role="img" aria-label={TEXTS.en.stars(review.rating)}>
              {'★'.repeat(review.rating) + '☆'.repeat(5 - review.rating)}
            </span>
            {review.title && <h2>{review.title}</h2>}
            <p>{review.body}</p>
            <p class="note">
              {`${review.author_name} · ${review.created_at.slice(0, 10)} · ${review.status} · `}
              <a href={`/console/product/${review.publication_id}`}>product</a>
            </p>
            <div class="tags">
              {(['published', 'rejected'] as const).map(
                (value) =>
                  value !== review.status && (
                    <Button
                      key={value}
                      action={`/console/review/${review.id}`}
                      label={value === 'published' ? 'Publish' : 'Reject'}
                      name={review.author_name}
                      values={{ status: value, shown: status }}
                    />
                  ),
              )}
              <Button
                action={`/console/review/${review.id}`}
                label="Delete"
                name={review.author_name}
                values={{ status: 'deleted', shown: status }}
              />
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A webhook with its last attempts to deliver. */
export interface ShownWebhook extends Webhook {
  readonly deliveries: readonly Delivery[];
}

export function Webhooks({ webhooks, secret }: { webhooks: readonly ShownWebhook[]; secret?: string }) {
  return (
    <>
      <h1>Webhooks</h1>
      {secret && (
        <div class="panel">
          <h2>Secret</h2>
          <p class="note">It signs the messages. Copy it now: it is not shown again.</p>
          <code>{secret}</code>
        </div>
      )}
      {webhooks.length === 0 && <p class="empty">No address hears of changes yet.</p>}
      {webhooks.map((webhook) => (
        <WebhookPanel key={webhook.id} {...webhook} />
      ))}
      <form class="panel" method="post" action="/console/webhooks">
        <h2>New webhook</h2>
        <label>
          <span>Address that all changes are sent to</span>
          <input name="url" type="url" placeholder="https://" required />
        </label>
        <p>
          <button type="submit">Create</button>
        </p>
      </form>
    </>
  );
}

function WebhookPanel({ id, url, status, status_reason, pending_count, deliveries }: ShownWebhook) {
  const is_active = status === 'active';
  const actions = [
    ...(is_active ? ([['ping', 'Ping']] as const) : []),
    is_active ? (['pause', 'Pause'] as const) : (['activate', 'Activate'] as const),
    ['rotate', 'New secret'] as const,
    ['delete', 'Delete'] as const,
  ];
  return (
    <section class="panel">
      <h2>{url}</h2>
      <p class="note">
        {`${status}${status_reason ? ` (${status_reason})` : ''} · ${pending_count} to be sent again`}
      </p>
      <div class="tags">
        {actions.map(([action, label]) => (
          <Button
            key={action}
            action={`/console/webhook/${id}`}
            label={label}
            name={url}
            values={{ action }}
          />
        ))}
      </div>
      {deliveries.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Time</th>
                <th>Message</th>
                <th class="number">Attempt</th>
                <th>Answer</th>
                <th>Next attempt</th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <tr key={`${delivery.id} ${delivery.attempt}`}>
                  <td>{secondOf(delivery.at)}</td>
                  <td>{delivery.type}</td>
                  <td class="number">{delivery.attempt}</td>
                  <td>{delivery.error ?? delivery.response_status}</td>
                  <td>{delivery.next_attempt_at && secondOf(delivery.next_attempt_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

export const secondOf = (time: string): string => time.slice(0, 19).replace('T', ' ');

/** `back`: where to go on. */
export function Message({ heading, hint, back = SECTIONS[0] }: MessageProps) {
  return (
    <div class="empty">
      <h1>{heading}</h1>
      <p>{hint}</p>
      <a href={back[0]}>{back[1]}</a>
    </div>
  );
}

interface MessageProps {
  readonly heading: string;
  readonly hint: string;
  readonly back?: readonly [path: string, label: string];
}
