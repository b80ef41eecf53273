import { hash } from 'node:crypto';

/** A text is stored as 96 bits of its hash: of a billion texts, two have the same with a probability of one in 10^11. */
const HASH_WORDS = 3;
const SLOT_WORDS = HASH_WORDS + 1;
const FIRST_SLOTS = 1_024;
/** The table doubles when more than this part of its slots is used. */
const FULL = 0.7;

/**
 * A map from texts to numbers from 1 to 2^32 - 1. Takes 23 to 46 bytes per text, however long the text is, so that an
 * import can remember every row of a file. A `Map` takes about 300.
 */
export class TextNumbers {
  private slots = FIRST_SLOTS;
  /** Per slot: the hash of the text, and its number. The number of a free slot is 0. */
  private table = new Uint32Array(FIRST_SLOTS * SLOT_WORDS);
  private count = 0;

  /** Returns the number of the text, 0 if it has none. */
  get(text: string): number {
    return this.table[this.find(hashOf(text)) + HASH_WORDS]!;
  }

  set(text: string, number: number): void {
    const { at, hash_words } = this.slotFor(text);
    this.put(at, hash_words, number);
  }

  /** Sets the number of the text if it has none. Returns the number that it had before, 0 if none. */
  add(text: string, number: number): number {
    const { at, hash_words } = this.slotFor(text);
    const before = this.table[at + HASH_WORDS]!;
    if (before === 0) this.put(at, hash_words, number);
    return before;
  }

  private slotFor(text: string): { readonly at: number; readonly hash_words: Uint32Array } {
    if (this.count > this.slots * FULL) this.grow();
    const hash_words = hashOf(text);
    return { at: this.find(hash_words), hash_words };
  }

  private put(at: number, hash_words: Uint32Array, number: number): void {
    if (this.table[at + HASH_WORDS] === 0) this.count++;
    this.table.set(hash_words, at);
    this.table[at + HASH_WORDS] = number;
  }

  /** Returns the index of the slot with this hash, or of the free slot where it belongs. */
  private find(hash_words: Uint32Array): number {
    const { table, slots } = this;
    for (let slot = hash_words[0]! % slots; ; slot = (slot + 1) % slots) {
      const at = slot * SLOT_WORDS;
      if (table[at + HASH_WORDS] === 0) return at;
      if (table[at] === hash_words[0] && table[at + 1] === hash_words[1] && table[at + 2] === hash_words[2])
        return at;
    }
  }

  private grow(): void {
    const old = this.table;
    this.slots *= 2;
    this.table = new Uint32Array(this.slots * SLOT_WORDS);
    for (let at = 0; at < old.length; at += SLOT_WORDS) {
      if (old[at + HASH_WORDS] === 0) continue;
      const entry = old.subarray(at, at + SLOT_WORDS);
      this.table.set(entry, this.find(entry));
    }
  }
}

function hashOf(text: string): Uint32Array {
  const bytes = hash('sha256', text, 'buffer');
  return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8));
}
