import type { Media } from 'catalog-client';
import { createContext, use, useMemo } from 'react';
import { useStore } from '../../lib/languages';
import type { useUploads } from '../../lib/uploads';
import { currencyOf, type Fields, type PriceField, type Product, partOf } from './fields';

/** What the parts of the editor share. */
export interface Editing {
  readonly product: Product;
  readonly values: Fields;
  /** Changes the draft. `isDrawn`: false if the input itself shows what is typed, and the page need not be drawn at each key. */
  readonly change: (values: Partial<Fields> | ((now: Fields) => Partial<Fields>), isDrawn?: boolean) => void;
  /** Why fields were refused, by name. */
  readonly faults: Readonly<Record<string, string>>;
  /** The media that the draft shows, by id. */
  readonly pictures: ReadonlyMap<string, Media>;
  readonly uploads: ReturnType<typeof useUploads>;
  /** The language in which the texts are edited. Undefined: the first one of the store. */
  readonly language: string | undefined;
}

export const EditingContext = createContext<Editing | undefined>(undefined);

export function useEditing(): Editing {
  const editing = use(EditingContext);
  if (!editing) throw new Error('useEditing needs an EditingContext');
  return editing;
}

/** The currencies beside that of the product in which it can have or has prices. */
export function useOtherCurrencies(): string[] {
  const { product, values } = useEditing();
  const sold = useStore().data?.currencies ?? [];
  const priced = Object.keys(product.publication?.prices ?? {});
  return [...new Set([...sold, ...priced])].filter((currency) => currency !== values.price_currency);
}

/** Returns a function that finds the amount which the service derives for a price that is not set. `key`: of the variant. */
export function useDerived() {
  const { product } = useEditing();
  const variants = useMemo(() => new Map(product.variants.map((each) => [each.id, each])), [product]);
  return (field: PriceField, key?: string): number | undefined => {
    const price = (key ? variants.get(key) : product.publication)?.prices?.[currencyOf(field)!];
    return price?.derived === undefined ? undefined : price[partOf(field) as 'price_amount'];
  };
}
