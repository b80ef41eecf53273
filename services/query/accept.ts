/**
 * Whether an `Accept` header likes a picture better than JSON (RFC 9110 §12.5.1): the weight of the best `image/…` range against
 * that of the nearest range that JSON is in. What takes anything gets JSON.
 */
export function prefersImage(accept: string | undefined): boolean {
  const ranges = (accept ?? '*/*').split(',').map(parse);
  const weight = (...types: readonly string[]): number | undefined => {
    for (const type of types) {
      const found = ranges.find((range) => range.type === type);
      if (found) return found.q;
    }
    return undefined;
  };
  const images = ranges.filter(({ type }) => type.startsWith('image/')).map(({ q }) => q);
  if (images.length === 0) return false;
  return Math.max(...images) > (weight('application/json', 'application/*', '*/*') ?? 0);
}

function parse(range: string): { readonly type: string; readonly q: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const q = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, q: Number.isFinite(q) ? q : 0 };
}
