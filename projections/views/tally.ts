import type { CollectionName } from '../../shared/catalog/documents';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { Category } from '../../shared/catalog/events/envelope';
import type { AnyDocument } from './view';

/**
 * Declares that the events of a category add numbers to documents of other streams. These events have no document of
 * their own. One event may add to many documents of its store.
 *
 * Adding must not depend on the order of events. If a document does not exist yet, the number is added to the placeholder
 * of its view. A deleted document stays deleted.
 */
export interface Tally<Shape extends AnyDocument = AnyDocument, Event extends DomainEvent = DomainEvent> {
  readonly category: Category;
  readonly collection: CollectionName;
  /** Returns the numbers that the event adds, by id of the document. */
  numbersOf(event: Event): Readonly<Record<string, number>>;
  /** Returns the document after the number was added. */
  add(document: Shape, number: number): Shape;
}
