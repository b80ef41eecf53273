import type { CollectionName, CollectionSpec } from '../../shared/catalog/documents';

/**
 * Returns a module as the next release would load it. That release declares one more key of publications, `trial_field`,
 * an index by it, and searches sorted by it. Everything that the module imports is loaded again and has that key, too.
 */
export function nextRelease<Module>(load: () => Module): Module {
  let loaded: Module | undefined;
  jest.isolateModules(() => {
    const documents = require('../../shared/catalog/documents') as {
      collections: Record<CollectionName, CollectionSpec>;
    };
    const { publications } = documents.collections;
    const words = publications.words!;
    const collections = {
      ...documents.collections,
      publications: {
        ...publications,
        keys: { ...publications.keys, trial_field: 'text' },
        indexes: [['store_id', 'trial_field', 'id'], ...publications.indexes],
        words: { ...words, ranges: [...words.ranges, 'trial_field'] },
      },
    };
    jest.doMock('../../shared/catalog/documents', () => ({ ...documents, collections }));
    loaded = load();
    jest.dontMock('../../shared/catalog/documents');
  });
  return loaded!;
}
