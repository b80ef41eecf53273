import { parseBarcode } from '../../shared/catalog/publication/barcode';
import { unescapeNumber } from '../../shared/catalog/spreadsheet';
import { shortenText } from '../../shared/kernel/text';

/*
 * SKUs and barcodes in files that a spreadsheet has changed (docs/import.md#shopifys-product-export).
 */

/** A number of many digits, of which only the first are left, or an error of a formula. */
const LOST = /^(\d([.,]\d+)?E\+\d+|#(N\/A|NAME\?|REF!|VALUE!|DIV\/0!|NUM!|NULL!|#+))$/i;
const DECIMAL = /^(\d+)[.,]0+$/;
const DATE =
  /^(\d{4}-\d\d-\d\d|\d{1,2}-(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-\d{2})$/i;
/** Digits of a UPC or an EAN without its leading zeros. */
const WITHOUT_ZEROS = /^(\d{7}|\d{9}|\d{11})$/;
/** Separates several barcodes of a variant. */
const SEPARATOR = /[,;|]/;

type Warn = (reason: string) => void;

/** Returns the SKU, null if there is none. Returns undefined, with a warning, if a spreadsheet has lost it. */
export function skuIn(cell: string, warn: Warn): string | null | undefined {
  const sku = unescapeNumber(cell).replace(/\s+/g, ' ');
  if (isLost('SKU', sku, warn)) return undefined;
  if (DECIMAL.test(sku)) warn(`SKU ${sku}: a spreadsheet may have made a decimal number of it`);
  if (DATE.test(sku)) warn(`SKU ${sku}: a spreadsheet may have made a date of it`);
  return sku || null;
}

/**
 * Returns the barcode, null if there is none or if its check digit is wrong. Of several, returns the first. Returns
 * undefined if a spreadsheet has lost it. Warns about each change.
 */
export function barcodeIn(cell: string, warn: Warn): string | null | undefined {
  const text = unescapeNumber(cell);
  if (isLost('barcode', text, warn)) return undefined;
  const decimal = DECIMAL.exec(text)?.[1];
  if (decimal !== undefined) warn(`barcode ${shown(text)} was imported as ${shown(decimal)}`);
  const [code = '', ...others] = (decimal ?? text).split(SEPARATOR).map((each) => each.trim());
  if (others.length > 0)
    warn(`barcode ${shown(others.join(', '))} was left out: a variant has one, which is ${shown(code)}`);
  if (code === '') return null;
  const barcode = parseBarcode(code);
  if (barcode === undefined) warn(`barcode ${shown(code)} was left out: its check digit is wrong`);
  if (WITHOUT_ZEROS.test(code) && parseBarcode(code.padStart(14, '0')) !== undefined)
    warn(`barcode ${code}: a spreadsheet may have removed its leading zeros`);
  return barcode ?? null;
}

function isLost(what: string, code: string, warn: Warn): boolean {
  const is_lost = LOST.test(code);
  if (is_lost) warn(`${what} ${shown(code)} was left out: a spreadsheet has changed it`);
  return is_lost;
}

const shown = (text: string): string => shortenText(text, 40);
