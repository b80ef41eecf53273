import { readStored, writeStored } from '../lib/stored';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

/** Shows the page in the stored appearance. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = readStored<Theme>('theme') ?? 'system';
}

export function chooseTheme(theme: Theme): void {
  writeStored('theme', theme);
  applyTheme();
}
