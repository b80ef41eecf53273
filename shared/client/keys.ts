import type { Key, NewKey } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, QueryOf } from './operations.js';
import type { ListOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** API keys of a store. The client needs a secret key with all permissions, no limits of its own, no expiry and no need for confirmation. */
export class KeyCalls {
  constructor(private readonly calls: Calls) {}

  /** Lists the keys of the store, newest first. */
  list(query: QueryOf<'listKeys'> = {}, options: ListOptions = {}): Pages<Key, AnswerOf<'listKeys'>> {
    return listOf((page) => this.calls.page('listKeys', { query: page }, options), query);
  }

  /**
   * Creates a key. `secret` of the answer is the key itself. It is undefined if an earlier attempt of this call created the
   * key, but its answer was lost: rotate the key then.
   *
   * @example
   * const { secret } = await client.keys.create({ name: 'Shop window', type: 'public' });
   */
  create(body: BodyOf<'createKey'>, options: WriteOptions = {}): Promise<NewKey> {
    return this.calls.write('createKey', { body }, options);
  }

  /**
   * Changes the name, or whether the writes of the key need confirmation.
   *
   * @example
   * await client.keys.update(id, { name: 'Ana' });
   */
  update(id: string, body: BodyOf<'updateKey'>, options: WriteOptions = {}): Promise<Key> {
    return this.calls.write('updateKey', { id, body }, options);
  }

  /**
   * Creates a key with the same rights, whose `secret` the answer has. The old key works for another day.
   *
   * @example
   * const { secret } = await client.keys.rotate(id);
   */
  rotate(id: string, options: WriteOptions = {}): Promise<NewKey> {
    return this.calls.write('rotateKey', { id }, options);
  }

  /** Revokes a key at once. */
  revoke(id: string, options: WriteOptions = {}): Promise<Key> {
    return this.calls.write('revokeKey', { id }, options);
  }
}
