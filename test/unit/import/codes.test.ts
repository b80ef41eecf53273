import { barcodeIn, skuIn } from '../../../services/import/codes';

/** Returns what is read, with the warnings. */
const read = (of: typeof skuIn, cell: string) => {
  const warnings: string[] = [];
  return [of(cell, (reason) => warnings.push(reason)), ...warnings];
};

const LEFT_OUT = 'was left out: a spreadsheet has changed it';

test.each([
  ['', null],
  ['TEE  90', 'TEE 90'],
  ["'90s-TEE", "'90s-TEE"],
  ["'0090", '0090'],
  ["''0090", "'0090"],
  ['1.23E+05', undefined, `SKU 1.23E+05 ${LEFT_OUT}`],
  ['#N/A', undefined, `SKU #N/A ${LEFT_OUT}`],
  ['#######', undefined, `SKU ####### ${LEFT_OUT}`],
  ['1001.0', '1001.0', 'SKU 1001.0: a spreadsheet may have made a decimal number of it'],
  ['1-Mar', '1-Mar', 'SKU 1-Mar: a spreadsheet may have made a date of it'],
  ['TEE-01', 'TEE-01'],
  ['12E45', '12E45'],
])('reads the SKU "%s"', (cell, ...expected) => {
  expect(read(skuIn, cell)).toEqual(expected);
});

test.each([
  ['', null],
  ['4006381333931', '4006381333931'],
  ["'036000291452", '036000291452'],
  ['4.00638E+12', undefined, `barcode 4.00638E+12 ${LEFT_OUT}`],
  ['4,00638E+12', undefined, `barcode 4,00638E+12 ${LEFT_OUT}`],
  ['4006381333931.0', '4006381333931', 'barcode 4006381333931.0 was imported as 4006381333931'],
  ['4006381333930', null, 'barcode 4006381333930 was left out: its check digit is wrong'],
  ['36000291452', '36000291452', 'barcode 36000291452: a spreadsheet may have removed its leading zeros'],
  [
    '4006381333931, 036000291452',
    '4006381333931',
    'barcode 036000291452 was left out: a variant has one, which is 4006381333931',
  ],
])('reads the barcode "%s"', (cell, ...expected) => {
  expect(read(barcodeIn, cell)).toEqual(expected);
});
