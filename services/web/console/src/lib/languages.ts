import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocale } from '../texts/texts';
import { useApi } from './api';

/** The store, which most pages have read already. */
export function useStore() {
  const { client } = useApi();
  return useQuery({ queryKey: ['store'], queryFn: () => client.store.get() });
}

/** The language in which a form edits its texts. Undefined: the first one, also instead of one that the store does not have. */
export function useTextLanguage(initial?: string) {
  const [chosen, choose] = useState(initial);
  const others = useStore().data?.locales?.slice(1) ?? [];
  return [others.find((locale) => locale === chosen), choose] as const;
}

/** Returns a function that names a language, such as `Portuguese (Brazil)` for `pt-BR`. */
export function useLanguageNames(): (tag: string) => string {
  const names = new Intl.DisplayNames(useLocale(), { type: 'language', languageDisplay: 'standard' });
  return (tag) => {
    const name = names.of(tag) ?? tag;
    return name.charAt(0).toLocaleUpperCase() + name.slice(1);
  };
}

/** The other languages of the store in which products lack texts, with the number of these products. */
export function useUntranslated() {
  const { client, may } = useApi();
  const nameOf = useLanguageNames();
  const locales = useStore().data?.locales?.slice(1) ?? [];
  const { data = [] } = useQuery({
    queryKey: ['publications', 'untranslated', locales],
    enabled: locales.length > 0 && may('read:publications'),
    queryFn: () =>
      Promise.all(
        locales.map(async (untranslated) => {
          const list = client.publications.list({ visibility: 'all', limit: 1, untranslated });
          return { locale: untranslated, count: (await list.page()).meta.item_count };
        }),
      ),
  });
  return data.map(({ locale, count }) => ({ locale, count, name: nameOf(locale) }));
}
