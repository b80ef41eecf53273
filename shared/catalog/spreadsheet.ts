/*
 * A spreadsheet runs a cell that begins like a formula, and changes a text of digits to a number. A quotation mark before
 * the text prevents both. Exports add it, and imports remove it.
 */

/** The quotation mark before a formula; further ones belong to the text. */
const FORMULA_QUOTE = /^'(?='*[=+\-@\t\r])/;
/** A text that a spreadsheet would run. OWASP names these characters (https://owasp.org/www-community/attacks/CSV_Injection). */
const FORMULA = /^'*[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;
const NUMBER_QUOTE = /^'(?='*\d+$)/;

/** Returns the cell as the text that it stands for. */
export const withoutFormulaQuote = (cell: string): string => cell.replace(FORMULA_QUOTE, '');

/** Returns the code that a cell stands for: without the quotation mark before a number. */
export const withoutNumberQuote = (cell: string): string => cell.replace(NUMBER_QUOTE, '');

/** Returns the cell for a text. With `is_disarmed`, a spreadsheet does not run it. */
export const withFormulaQuote = (text: string, is_disarmed: boolean): string =>
  FORMULA_QUOTE.test(text) || (is_disarmed && FORMULA.test(text) && !NUMBER.test(text)) ? `'${text}` : text;

/** Returns the cell for a code, such that `withoutNumberQuote` returns the code. */
export const withNumberQuote = (code: string): string => (NUMBER_QUOTE.test(code) ? `'${code}` : code);
