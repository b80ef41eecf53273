import { DELETED, type Expected, type Proposal, type StoredEvent } from './records';

export type Verdict = 'ok' | 'wrong_revision' | 'deleted' | 'idempotent';

/** One stream: its events, including those being written to disk, and which of them are hidden. */
export class StreamState {
  readonly events: StoredEvent[] = [];
  /** Number of events on disk. Readers see only these. */
  visible = 0;
  /** Events with a lower revision are hidden. `DELETED` for a soft-deleted stream. */
  truncate_before = 0n;
  tombstoned = false;
  private hidden_until_ms = 0;

  get last(): bigint {
    return BigInt(this.events.length) - 1n;
  }

  get softDeleted(): boolean {
    return this.truncate_before === DELETED;
  }

  get exists(): boolean {
    return this.visible > 0 && !this.softDeleted && performance.now() >= this.hidden_until_ms;
  }

  /** Makes the stream absent for readers for a moment. */
  hideFor(ms: number): void {
    this.hidden_until_ms = performance.now() + ms;
  }

  /** Returns the visible events from `revision` on, in order. */
  from(revision: bigint): StoredEvent[] {
    const first = revision > this.truncate_before ? revision : this.truncate_before;
    return first >= BigInt(this.visible) ? [] : this.events.slice(Number(first), this.visible);
  }

  check(expected: Expected, proposals: readonly Proposal[], isKnown: (id: string) => boolean): Verdict {
    if (this.tombstoned) return 'deleted';
    if (expected.kind === 'stream_exists' && this.softDeleted) return 'deleted';
    if (expected.kind === 'stream_exists' && this.last < 0n) return 'wrong_revision';
    const revision =
      expected.kind === 'revision' ? expected.revision : expected.kind === 'no_stream' ? -1n : undefined;
    if (revision === undefined) return knownIds(proposals.map(({ id }) => isKnown(id)));
    if (revision > this.last) return 'wrong_revision';
    return revision === this.last ? 'ok' : this.checkRepeat(revision, proposals);
  }

  /**
   * An append at an older revision is a repeat if exactly its events follow that revision. If not, it lost the race.
   */
  private checkRepeat(revision: bigint, proposals: readonly Proposal[]): Verdict {
    const there = proposals.map((_, index) => this.events[Number(revision) + 1 + index]);
    if (proposals.length > 0 && proposals.every((proposal, index) => there[index]?.id === proposal.id))
      return 'idempotent';
    const fresh = there[0]?.id !== proposals[0]?.id;
    return revision === -1n && fresh && this.softDeleted ? 'ok' : 'wrong_revision';
  }
}

/** Without a revision, only the ids identify a repeat. */
function knownIds(known: readonly boolean[]): Verdict {
  if (!known[0]) return 'ok';
  return known.every(Boolean) ? 'idempotent' : 'wrong_revision';
}
