/**
 * The columns of Shopify's product file that an import reads and an export writes, in the order of Shopify, each with the
 * names that Shopify has given it over the years. An export writes the first name.
 */
export const SHOPIFY_COLUMNS = {
  handle: ['Handle', 'URL handle'],
  title: ['Title'],
  body: ['Body (HTML)', 'Body HTML', 'Description'],
  vendor: ['Vendor'],
  type: ['Type', 'Custom Product Type'],
  tags: ['Tags'],
  published: ['Published', 'Published on online store'],
  option1_name: ['Option1 Name'],
  option1: ['Option1 Value'],
  option2_name: ['Option2 Name'],
  option2: ['Option2 Value'],
  option3_name: ['Option3 Name'],
  option3: ['Option3 Value'],
  sku: ['Variant SKU', 'SKU'],
  grams: ['Variant Grams', 'Weight value (grams)'],
  tracker: ['Variant Inventory Tracker', 'Inventory tracker'],
  quantity: ['Variant Inventory Qty', 'Inventory quantity'],
  policy: ['Variant Inventory Policy', 'Continue selling when out of stock'],
  price: ['Variant Price', 'Price'],
  compare_at: ['Variant Compare At Price', 'Compare-at price'],
  barcode: ['Variant Barcode', 'Barcode', 'Barcodes', 'Variant Barcodes'],
  image: ['Image Src', 'Product image URL'],
  image_position: ['Image Position', 'Product image position'],
  image_alt: ['Image Alt Text', 'Image alt text'],
  seo_title: ['SEO Title', 'SEO title'],
  seo_description: ['SEO Description', 'SEO description'],
  variant_image: ['Variant Image', 'Variant image URL'],
  status: ['Status'],
} as const;

/** Shopify's value of the only variant of a product. */
export const NO_OPTION_VALUE = 'Default Title';
