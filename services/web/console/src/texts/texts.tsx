import { createContext, type ReactNode, use, useEffect, useState } from 'react';
import { I18nProvider } from 'react-aria-components';
import { useStored } from '../lib/stored';
import { en, type Texts } from './en';

export type { Texts };

/** The languages of the console. English comes with the first script, the others are loaded when they are chosen. */
export const LANGUAGES = { en: 'English', es: 'Español' } as const;
export type Language = keyof typeof LANGUAGES;

const loaders: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => en,
  es: async () => (await import('./es')).es,
};

const TextsContext = createContext<Texts>(en);
const LanguageContext = createContext<readonly [Language, (language: Language) => void]>(['en', () => {}]);

export const useTexts = (): Texts => use(TextsContext);
export const useLanguage = () => use(LanguageContext);

/** The locale of numbers, money and dates: the browser's own, if it is of the language of the page. */
export function useLocale(): string {
  const [language] = useLanguage();
  return localeOf(language);
}

const localeOf = (language: Language): string =>
  navigator.languages.find((each) => each.startsWith(language)) ?? language;

const preferred = (): Language =>
  navigator.languages.map((each) => each.slice(0, 2)).find((each): each is Language => each in LANGUAGES) ??
  'en';

/** Chooses the language: the stored choice, or else the first language of the browser that the console has. */
export function TextsProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useStored<Language>('language', preferred());
  const [texts, setTexts] = useState<Texts | undefined>(language === 'en' ? en : undefined);
  useEffect(() => {
    void loaders[language]().then((loaded) => setTexts(() => loaded));
    document.documentElement.lang = language;
  }, [language]);
  if (!texts) return null;
  return (
    <I18nProvider locale={localeOf(language)}>
      <LanguageContext value={[language, setLanguage]}>
        <TextsContext value={texts}>{children}</TextsContext>
      </LanguageContext>
    </I18nProvider>
  );
}
