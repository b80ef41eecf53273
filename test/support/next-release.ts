import type { CollectionName, CollectionSpec } from '../../shared/catalog/documents';

/**
 * What the next release has of a module, which declares one more key of publications and an index by it, `brand`.
 * Everything that the module imports is loaded anew and knows that key, too.
 */
export function nextRelease<Module>(load: () => Module): Module {
  let loaded: Module | undefined;
  jest.isolateModules(() => {
    const documents = require('../../shared/catalog/documents') as {
      collections: Record<CollectionName, CollectionSpec>;
    };
    const { publications } = documents.collections;
    const collections = {
      ...documents.collections,
      publications: {
        ...publications,
        keys: { ...publications.keys, brand: 'text' },
        indexes: [['store_id', 'brand', 'id'], ...publications.indexes],
      },
    };
    jest.doMock('../../shared/catalog/documents', () => ({ ...documents, collections }));
    loaded = load();
    jest.dontMock('../../shared/catalog/documents');
  });
  return loaded!;
}
