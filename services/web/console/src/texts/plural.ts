/** Returns a function that chooses the form of a text for a count, and puts the formatted count into it as `#`. */
export function pluralsOf(locale: string) {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  return (count: number, one: string, other: string): string =>
    (rules.select(count) === 'one' ? one : other).replace('#', numbers.format(count));
}
