import type { Key } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { MediaDocument } from '../../shared/catalog/media/document';
import type { MediaEvent } from '../../shared/catalog/media/media';
import type { MediaUseDocument } from '../../shared/catalog/media/use-document';
import type { Environment } from '../../shared/catalog/realm';
import type { MediaId } from '../../shared/kernel/ids';
import { foldMedia } from '../views/media';
import type { Known } from '../views/view';
import { type Decoded, decodedOrNothing } from './decoded';
import { showMedia } from './fold-media';
import { loadUsers } from './touched';
import type { UnitOfWork } from './unit-of-work';

/** A change of a media that more show than are taken into memory at once. */
export interface MediaSweep {
  readonly media_id: MediaId;
  readonly store_id: Key;
  /** As the events leave it; null where they delete it. */
  readonly media: Known<MediaDocument>;
  readonly position: RecordedEvent['position'];
  /** How many events at the head of those looked at it stands for. */
  readonly length: number;
}

const CHUNK = 500;

/** The sweep that the event at `index` calls for, together with those of the same stream right behind it. */
export function mediaSweepFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  index: number,
): MediaSweep | undefined {
  const id = mediaOf(events[index])?.id as MediaId | undefined;
  if (id === undefined || !unit.isCrowded(id)) return undefined;
  const before = unit.read('media', id);
  let media = before;
  let length = 0;
  for (let next = mediaOf(events[index]); next?.id === id; next = mediaOf(events[index + length])) {
    const recorded = events[index + length]!;
    const occasion = { id, revision: recorded.revision, at: recorded.metadata.occurred_at };
    media = foldMedia(media, next.event as MediaEvent, occasion, next.realm as Environment);
    length++;
  }
  if (media === before) return undefined;
  const store_id = (media ?? before)?.keys.store_id ?? null;
  return { media_id: id, store_id, media, position: events[index]!.position, length };
}

/**
 * Brings the change into all that show the media, chunk by chunk; `openUnit` gives a fresh unit that takes what its
 * listings and stores have already, and `write` applies one. Doing it again, or a part of it, changes nothing more.
 */
export async function sweepMedia(
  { media_id, store_id, media, position }: MediaSweep,
  openUnit: () => Promise<UnitOfWork>,
  write: (unit: UnitOfWork) => Promise<void>,
): Promise<void> {
  for (let after_id: string | undefined; ; ) {
    const unit = await openUnit();
    const page = {
      where: { store_id, media_id },
      limit: CHUNK,
      ...(after_id === undefined ? {} : { after_id }),
    };
    const uses = await unit.version.scan('media_uses', page);
    const users = uses.map(({ document }) => (document as unknown as MediaUseDocument).state.used_by);
    await loadUsers(unit, users);
    // Before the event itself, which is still to reach the store that all these are in.
    unit.begin({ position: position - 1n });
    for (const user of users) showMedia(unit, user, media_id, media);
    await write(unit);
    after_id = uses.at(-1)?.id;
    if (uses.length < CHUNK || after_id === undefined) return;
  }
}

function mediaOf(recorded: RecordedEvent | undefined): Decoded | undefined {
  const known = recorded && decodedOrNothing(recorded);
  return known?.category === 'media' ? known : undefined;
}
