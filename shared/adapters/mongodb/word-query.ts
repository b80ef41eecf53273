import type { Document, Filter } from 'mongodb';
import type { CollectionName } from '../../catalog/documents';
import type { WordMatch, WordScope, WordTerms } from '../../ports/view-store';
import { type MongoDocument, specOf } from './documents';
import { filterOf } from './page-query';

/** Live documents of the scope alone. Throws where the collection is not searched, or the scope is not named whole. */
export function scopeFilter(collection: CollectionName, scope: WordScope): Filter<MongoDocument> {
  const { words } = specOf(collection);
  if (!words) throw new Error(`${collection} is not searched by words`);
  const unnamed = words.scope.find((key) => scope[key] === undefined);
  if (unnamed !== undefined) throw new Error(`a search by words names ${unnamed}`);
  return filterOf(collection, scope);
}

/** What has, for every term, one of its matches; with none, everything. */
export function termsFilter(terms: WordTerms): Document {
  if (terms.length === 0) return {};
  return { $and: terms.map((matches) => ({ words: { $in: matches.map(lookFor) } })) };
}

/** An anchored expression is a range of the index. */
function lookFor({ word, prefix }: WordMatch): string | RegExp {
  return prefix ? new RegExp(`^${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`) : word;
}

export const fits = (words: readonly string[], { word, prefix }: WordMatch): boolean =>
  prefix ? words.some((one) => one.startsWith(word)) : words.includes(word);
