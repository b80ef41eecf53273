import type { NameDocument } from '../../shared/catalog/name/document';
import type { NameEvent } from '../../shared/catalog/name/name';
import type { View } from './view';

/** Documents of reserved names: which resource reserved each name last. */
export const nameView: View<NameDocument, NameEvent> = {
  collection: 'names',
  category: 'name',
  fold: (_before, { data: { store_id, owner_id } }) => ({
    keys: { store_id },
    body: { owner_id },
    state: {},
    expansions: {},
  }),
};
