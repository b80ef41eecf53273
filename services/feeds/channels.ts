import { minorUnitsOfHundredth } from '../../shared/catalog/amounts';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { csvCell } from '../../shared/catalog/spreadsheet';
import type { ExportedImage } from '../query/export-items';
import { type Field, readField } from './fields';
import { type Offer, type Product, priceText, type Shop } from './products';

/** A format in which a marketplace, an advertiser or an agent reads the products of a store. */
export interface Channel {
  /** The name of the file in `/feeds`. */
  readonly file: string;
  readonly content_type: string;
  /** Fields of products that have fields of their own besides those of their offers. */
  readonly product_fields?: readonly Field<Product>[];
  readonly fields: readonly Field<Offer>[];
  readonly begin: (shop: Shop) => string;
  readonly write: (product: Product) => string;
  readonly end: string;
}

// --- Fields that several channels have ---

type OfferField = Field<Offer>;
type Limits = Partial<Omit<OfferField, 'name' | 'of'>>;

const CONDITIONS = /^(new|refurbished|used)$/;
const CURRENT = 'in stock, out of stock, or on backorder, by the stock of the variant';

/** Returns the field of an attribute of the variant or the product. */
const attribute = (name: string, limits: Limits = {}): OfferField => ({
  name,
  from: `the attribute \`${name}\``,
  of: (offer) => offer.attribute(name),
  ...limits,
});

const detail = (name: 'color' | 'size' | 'material' | 'pattern', length_max: number): OfferField => ({
  name,
  from: `the option for it, or the attribute \`${name}\``,
  of: (offer) => offer.detail(name),
  length_max,
});

const FIELDS = {
  id: { from: 'the id of the variant, or of a product without variants', of: ({ id }) => id },
  title: {
    from: 'the title of the product, with the option values of the variant',
    of: ({ title }) => title,
  },
  description: { from: 'the description of the product as plain text', of: ({ description }) => description },
  link: { from: 'the page of the variant in the shop', of: ({ link }) => link },
  image_link: {
    from: 'the picture of the variant, or the first of the product',
    of: ({ images }) => images[0]?.url,
  },
  additional_image_link: {
    from: 'the other pictures',
    of: ({ images }) => images.slice(1).map(({ url }) => url),
  },
  price: { from: 'the price', of: ({ amount, publication }) => priceText(amount, publication) },
  sale_price: {
    from: 'the sale price, unless the sale begins later and has no end',
    of: ({ sale, publication }) =>
      sale && (sale.is_running || sale.to !== null) ? priceText(sale.amount, publication) : undefined,
  },
  sale_price_effective_date: {
    from: 'the time of a sale that ends',
    // The channels expect two times. A sale without a beginning has run since there is the product.
    of: ({ sale, publication: { created_at } }) =>
      sale?.to ? `${minutes(sale.from ?? created_at)}/${minutes(sale.to)}` : undefined,
  },
  item_group_id: {
    from: 'the id of the product, if it has variants',
    of: ({ variant, publication }) => (variant ? publication.id : undefined),
  },
  product_type: {
    from: 'the path of the listing, or the product type',
    of: ({ listing_path, publication }) => listing_path ?? publication.product_type ?? undefined,
  },
  brand: { from: 'the vendor', of: ({ publication }) => publication.vendor ?? undefined },
  gtin: { from: 'the barcode of the variant', of: ({ gtin }) => gtin },
  condition: {
    from: 'the attribute `condition`, or `new`',
    of: (offer) => offer.attribute('condition') ?? 'new',
    rule: { pattern: CONDITIONS, text: 'new, refurbished or used' },
  },
  shipping_weight: {
    from: 'the weight',
    of: ({ variant }) => (variant?.weight_grams ? `${variant.weight_grams} g` : undefined),
  },
} satisfies Readonly<Record<string, Omit<OfferField, 'name'>>>;

const common = (name: keyof typeof FIELDS, limits: Limits = {}): OfferField => ({
  name,
  ...FIELDS[name],
  ...limits,
});
const required = (name: keyof typeof FIELDS, length_max?: number, limits: Limits = {}): OfferField =>
  common(name, { need: 'required', ...(length_max !== undefined && { length_max }), ...limits });

/** Returns a time as Google and Meta expect it: `2026-11-27T00:00+0000`. */
const minutes = (time: string): string => `${time.slice(0, 16)}+0000`;

const ABOVE_ZERO = { pattern: /[1-9]/, text: 'above 0' };
const GENDERS = { pattern: /^(male|female|unisex)$/, text: 'male, female or unisex' };
const AGES = {
  pattern: /^(newborn|infant|toddler|kids|adult)$/,
  text: 'newborn, infant, toddler, kids or adult',
};
/** Codes for use within a company, and coupons. Google refuses them. */
const GLOBAL_GTIN = {
  pattern: /^(?!(\d?(2\d|02|04)\d{11}|[24]\d{11}|2\d{7})$)/,
  text: 'a code that GS1 has assigned',
};

// --- Google Merchant Center (https://support.google.com/merchants/answer/7052112) ---

const isIdentified = (offer: Offer): boolean =>
  offer.gtin !== undefined || (offer.publication.vendor !== null && offer.attribute('mpn') !== undefined);

const google: Channel = {
  file: 'google.xml',
  content_type: 'application/xml; charset=utf-8',
  fields: [
    required('id', 50, { is_whole: true }),
    required('title', 150),
    required('description', 5_000),
    required('link', 2_000, { is_whole: true }),
    required('image_link', 2_000, { is_whole: true }),
    common('additional_image_link', { count_max: 10 }),
    { name: 'availability', from: CURRENT, of: ({ availability }) => availability, need: 'required' },
    attribute('availability_date', {
      need: ({ availability }) => (availability === 'backorder' ? 'required' : undefined),
      rule: { pattern: /^\d{4}-\d\d-\d\d(T[\d:]+(Z|[+-][\d:]+))?$/, text: 'a date, such as 2026-11-27' },
    }),
    required('price', undefined, { rule: ABOVE_ZERO }),
    common('sale_price', { rule: ABOVE_ZERO }),
    common('sale_price_effective_date', { length_max: 51 }),
    attribute('google_product_category', { length_max: 750 }),
    common('product_type', { length_max: 750 }),
    common('brand', { need: 'recommended', length_max: 70 }),
    common('gtin', {
      need: (offer) => (isIdentified(offer) ? undefined : 'recommended'),
      rule: GLOBAL_GTIN,
    }),
    attribute('mpn', { length_max: 70 }),
    {
      name: 'identifier_exists',
      from: '`no` without a barcode, and without vendor and `mpn`',
      of: (offer) => (isIdentified(offer) ? undefined : 'no'),
    },
    common('condition'),
    common('item_group_id', { length_max: 50, is_whole: true }),
    detail('color', 100),
    detail('size', 100),
    detail('material', 200),
    detail('pattern', 100),
    attribute('gender', { rule: GENDERS }),
    attribute('age_group', { rule: AGES }),
    common('shipping_weight'),
  ],
  begin: ({ name, base_url }) =>
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    '<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel>\n' +
    `${element('title', name)}${element('link', base_url)}${element('description', name)}\n`,
  write: ({ offers }) => offers.map(googleItem).join(''),
  end: '</channel></rss>\n',
};

function googleItem(offer: Offer): string {
  const elements = google.fields.flatMap((field) => {
    const { value = [] } = readField(field, offer);
    return [value].flat().map((each) => element(`g:${field.name}`, String(each)));
  });
  return `<item>${elements.join('')}</item>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Characters that XML 1.0 does not have. */
const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

export const escapeXml = (text: string): string =>
  text.replace(NOT_IN_XML, '').replace(/[&<>"]/g, (each) => ENTITIES[each]!);
export const element = (name: string, text: string): string => `<${name}>${escapeXml(text)}</${name}>`;

// --- Meta (https://developers.facebook.com/docs/marketing-api/catalog/reference) ---

/** The most characters of all additional pictures together. */
const META_IMAGES_LENGTH = 2_000;
const META_AVAILABILITY = {
  in_stock: 'in stock',
  out_of_stock: 'out of stock',
  backorder: 'available for order',
} as const;

const meta: Channel = {
  file: 'meta.csv',
  content_type: 'text/csv; charset=utf-8',
  fields: [
    required('id', 100, { is_whole: true }),
    required('title', 200),
    required('description', 9_999),
    {
      name: 'availability',
      from: CURRENT,
      of: ({ availability }) => META_AVAILABILITY[availability],
      need: 'required',
    },
    required('condition'),
    required('price', undefined, { rule: ABOVE_ZERO }),
    required('link', 2_000, { is_whole: true }),
    required('image_link', 2_000, { is_whole: true }),
    common('brand', {
      need: (offer) => (offer.gtin || offer.attribute('mpn') ? 'recommended' : 'required'),
      length_max: 100,
    }),
    {
      ...common('additional_image_link', { count_max: 20 }),
      of: ({ images }) => fitting(images.slice(1)),
    },
    common('sale_price'),
    common('sale_price_effective_date'),
    common('item_group_id', { length_max: 100, is_whole: true }),
    attribute('google_product_category', { length_max: 250 }),
    common('product_type', { length_max: 750 }),
    common('gtin'),
    attribute('mpn', { length_max: 100 }),
    detail('color', 200),
    detail('size', 200),
    detail('material', 200),
    detail('pattern', 100),
    attribute('gender', { rule: GENDERS }),
    attribute('age_group', { rule: AGES }),
    {
      name: 'quantity_to_sell_on_facebook',
      from: 'the stock',
      of: ({ quantity }) => (quantity === null ? undefined : String(Math.max(0, quantity))),
    },
    common('shipping_weight'),
  ],
  begin: () => `${meta.fields.map(({ name }) => name).join(',')}\n`,
  write: ({ offers }) => offers.map(metaRow).join(''),
  end: '',
};

/** Returns the addresses of the first pictures that Meta accepts together. */
function fitting(images: readonly ExportedImage[]): string[] {
  let length = -1;
  return images.flatMap(({ url }) => {
    length += url.length + 1;
    return length <= META_IMAGES_LENGTH ? [url] : [];
  });
}

const metaRow = (offer: Offer): string =>
  `${meta.fields.map((field) => csvCell(String(readField(field, offer).value ?? ''))).join(',')}\n`;

// --- Agentic Commerce Protocol, 2026-04-17: a file with one product on each line ---

const imagesOf = ({ images }: Pick<Offer, 'images'>) =>
  images.map(({ url, alt }) => ({ type: 'image', url, ...(alt !== null && { alt_text: alt }) }));

const acp: Channel = {
  file: 'acp.jsonl',
  content_type: 'application/x-ndjson',
  product_fields: [
    { name: 'id', from: 'the id of the product', of: ({ publication }) => publication.id, need: 'required' },
    { name: 'title', from: 'the title', of: ({ publication }) => publication.title, need: 'required' },
    {
      name: 'description',
      from: 'the description, as plain text and as HTML',
      of: ({ description, publication: { description_html } }) =>
        description === ''
          ? undefined
          : { plain: description, ...(description_html !== null && { html: description_html }) },
      need: 'recommended',
    },
    { name: 'url', from: 'the page of the product in the shop', of: ({ link }) => link, need: 'recommended' },
    { name: 'media', from: 'the pictures', of: imagesOf, need: 'recommended' },
  ],
  fields: [
    required('id'),
    required('title'),
    { ...common('link'), name: 'url', need: 'recommended' },
    {
      name: 'barcodes',
      from: 'the barcode of the variant, if it is a GTIN',
      of: ({ gtin }) => gtin && [{ type: 'GTIN', value: gtin }],
      need: 'recommended',
    },
    {
      name: 'price',
      from: 'what it costs now',
      of: ({ amount, sale, publication }) =>
        acpPrice(sale?.is_running ? sale.amount : amount, publication.price_currency),
      need: 'recommended',
    },
    {
      name: 'list_price',
      from: 'the price outside of the sale, or the price to compare with',
      of: acpListPrice,
    },
    {
      name: 'availability',
      from: CURRENT,
      of: ({ availability }) => ({ available: availability !== 'out_of_stock', status: availability }),
      need: 'recommended',
    },
    {
      name: 'categories',
      from: 'the path of the listing, and the attribute `google_product_category`',
      of: (offer) =>
        [
          { taxonomy: 'merchant', value: offer.listing_path },
          { taxonomy: 'google_product_category', value: offer.attribute('google_product_category') },
        ].flatMap(({ value, taxonomy }) => (value ? [{ value, taxonomy }] : [])),
    },
    {
      name: 'condition',
      from: FIELDS.condition.from,
      of: (offer) => [offer.attribute('condition') ?? 'new'],
    },
    {
      name: 'variant_options',
      from: 'the option values of the variant',
      of: ({ variant }) =>
        Object.entries(variant?.option_values ?? {}).map(([name, value]) => ({ name, value })),
    },
    { name: 'media', from: 'the picture of the variant, then the others', of: imagesOf },
    { name: 'seller', from: 'the name of the store', of: ({ shop: { name } }) => ({ name }) },
  ],
  begin: () => '',
  write: (product) => {
    const variants = product.offers.map((offer) => objectOf(acp.fields, offer));
    return `${JSON.stringify({ ...objectOf(acp.product_fields!, product), variants })}\n`;
  },
  end: '',
};

const acpPrice = (amount: number, currency: string) => ({
  amount: Math.round(amount * minorUnitsOfHundredth(currency)),
  currency,
});

function acpListPrice({ amount, sale, variant, publication }: Offer) {
  const { price_currency } = publication;
  if (sale?.is_running) return acpPrice(amount, price_currency);
  const { compare_at_amount } = variant ?? publication;
  return compare_at_amount !== null && compare_at_amount > amount
    ? acpPrice(compare_at_amount, price_currency)
    : undefined;
}

function objectOf<Subject>(fields: readonly Field<Subject>[], subject: Subject): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const { value } = readField(field, subject);
      return value === undefined ? [] : [[field.name, value]];
    }),
  );
}

/** The channels by the names that requests give. */
export const CHANNELS = { google, meta, acp } as const;
export type ChannelName = keyof typeof CHANNELS;
