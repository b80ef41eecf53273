import type { Texts } from '../texts/texts';
import type { IconName } from '../ui/icon';

export interface Section {
  readonly path: string;
  readonly icon: IconName;
  readonly titleIn: (t: Texts) => string;
}

/** The sections of the navigation, in two groups: the catalog, and what is around it. */
export const SECTIONS: readonly (readonly Section[])[] = [
  [
    { path: '/', icon: 'overview', titleIn: (t) => t.overview.title },
    { path: '/products', icon: 'product', titleIn: (t) => t.products.title },
    { path: '/listings', icon: 'listing', titleIn: (t) => t.listings.title },
    { path: '/media', icon: 'media', titleIn: (t) => t.media.title },
    { path: '/reviews', icon: 'review', titleIn: (t) => t.reviews.title },
  ],
  [
    { path: '/imports', icon: 'import', titleIn: (t) => t.imports.title },
    { path: '/channels', icon: 'channel', titleIn: (t) => t.channels.title },
    { path: '/history', icon: 'history', titleIn: (t) => t.history.title },
    { path: '/proposals', icon: 'proposal', titleIn: (t) => t.proposals.title },
    { path: '/webhooks', icon: 'webhook', titleIn: (t) => t.webhooks.title },
    { path: '/keys', icon: 'key', titleIn: (t) => t.keys.title },
    { path: '/store', icon: 'store', titleIn: (t) => t.store.title },
  ],
];

/** Whether the page at `location` is in the section. */
export const isIn = (path: string, location: string): boolean =>
  path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`);
