/** An EAN-8, UPC-A, EAN-13 (also ISBN-13) or GTIN-14. */
const GTIN = /^(\d{8}|\d{12,14})$/;
const ISBN_10 = /^\d{9}[\dX]$/;

/**
 * Returns the code as it is stored: without spaces and hyphens if it is a GTIN or an ISBN. Other codes, such as Code 128,
 * stay as they are. Returns undefined if the check digit is wrong.
 */
export function parseBarcode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, '').toUpperCase();
  // Digits from the right, which begins with the check digit.
  const digits = [...code].reverse().map((digit) => (digit === 'X' ? 10 : Number(digit)));
  const sum = (weightOf: (index: number) => number): number =>
    digits.reduce((total, digit, index) => total + digit * weightOf(index), 0);
  if (GTIN.test(code)) return sum((index) => (index % 2 === 0 ? 1 : 3)) % 10 === 0 ? code : undefined;
  if (ISBN_10.test(code)) return sum((index) => index + 1) % 11 === 0 ? code : undefined;
  return text;
}
